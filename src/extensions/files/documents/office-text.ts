import { posix } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { AppError, type Bounds, cut, type DocumentText, errorMessage } from '../../../core/api-child.ts';
import { slidesText, wordText } from './paragraphs.ts';
import { workbookText } from './workbook.ts';
import { xmlEvents, type XmlEvent } from './xml-events.ts';

/** What people call a document, the part that every archive of this format has, and what reads it. */
const FORMATS = {
  docx: { noun: 'Word document', main: 'word/document.xml', read: wordText },
  xlsx: { noun: 'Excel workbook', main: 'xl/workbook.xml', read: workbookText },
  pptx: { noun: 'PowerPoint presentation', main: 'ppt/presentation.xml', read: slidesText },
};
type OfficeFormat = keyof typeof FORMATS;
const NAMES = Object.keys(FORMATS) as OfficeFormat[];
/** Cap of one unpacked part, in bytes. */
const MOST_PART = 60 * 1024 * 1024;
/** Events between two looks at the clock. */
const EVENTS_AT_ONCE = 5_000;

/**
 * The text of a Word document, an Excel workbook or a PowerPoint presentation; `format` null: the archive is none of them.
 * Throws a sentence for a broken or too large document.
 */
export function officeText(bytes: Uint8Array, bounds: Bounds): DocumentText & { readonly format: OfficeFormat | null } {
  const format = officeFormat(bytes);
  if (format === null) return { title: null, text: '', cut: false, format };
  const file = new OfficeFile(bytes, FORMATS[format], bounds);
  const text = FORMATS[format].read(file);
  const isCut = file.isFull || text.length > bounds.mostChars;
  return { title: file.title(), text: cut(text, bounds.mostChars), cut: isCut, format };
}

/** The format of an archive by the main part that it names. A document in a document does not count. */
function officeFormat(bytes: Uint8Array): OfficeFormat | null {
  try {
    const names = new Set<string>();
    unzipSync(bytes, { filter: ({ name }) => (names.add(name), false) });
    return NAMES.find((format) => names.has(FORMATS[format].main)) ?? null;
  } catch {
    // Cut off or broken: its first part still says what it was.
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const places = NAMES.map((format) => ({ format, at: buffer.indexOf(FORMATS[format].main) }));
    return places.filter(({ at }) => at >= 0).toSorted((a, b) => a.at - b.at)[0]?.format ?? null;
  }
}

/** The XML parts of an Office document, as far as there is room for text and time. Each is unpacked when it is read. */
export class OfficeFile {
  /** There is more text than is read. */
  isFull = false;
  readonly #bytes: Uint8Array;
  readonly #format: (typeof FORMATS)[OfficeFormat];
  readonly #hasTime: () => boolean;
  #left: number;
  #events = 0;

  constructor(bytes: Uint8Array, format: (typeof FORMATS)[OfficeFormat], { mostChars, hasTime }: Bounds) {
    this.#bytes = bytes;
    this.#format = format;
    this.#left = mostChars;
    this.#hasTime = hasTime;
  }

  /** Counts characters of the result. */
  add(chars: number): void {
    this.#left -= chars;
    this.isFull ||= this.#left < 0;
  }

  /** What stands in a part, in order, until `isFull`. Of a part that is not there nothing, unless it is the main one. */
  *events(part = this.#format.main): Generator<XmlEvent> {
    for (const event of xmlEvents(this.#part(part))) {
      if (this.#events % EVENTS_AT_ONCE === 0 && !this.#hasTime()) this.isFull = true;
      this.#events += 1;
      if (this.isFull) return;
      yield event;
    }
  }

  /** What a part refers to, by id. A target is the name of another part; links to other places are left out. */
  relations(part = this.#format.main): ReadonlyMap<string, { readonly type: string; readonly target: string }> {
    const slash = part.lastIndexOf('/') + 1;
    const found = new Map<string, { type: string; target: string }>();
    for (const event of this.events(`${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`)) {
      if (event.type !== 'open' || event.name !== 'Relationship') continue;
      const [id = '', type = '', target = ''] = ['Id', 'Type', 'Target'].map((name) => event.attribute(name));
      if (id === '' || target === '' || event.attribute('TargetMode') === 'External') continue;
      const name = posix.resolve(`/${part.slice(0, slash)}`, target).slice(1);
      found.set(id, { type: type.split('/').at(-1) ?? '', target: name });
    }
    return found;
  }

  /** The title that the document's properties give it. */
  title(): string | null {
    let title = '';
    let isOpen = false;
    for (const event of xmlEvents(this.#part('docProps/core.xml'))) {
      if (event.type === 'text') title += isOpen ? event.text : '';
      else if (event.name === 'title') isOpen = event.type === 'open';
    }
    return title.trim() === '' ? null : title.trim();
  }

  /** Throws for a broken archive, for a part of more than 60 MB and where the main part is missing. */
  #part(wanted: string): string {
    try {
      // `unzipSync` stops at the size that the archive declares, so a part cannot unpack to more.
      const { [wanted]: data } = unzipSync(this.#bytes, {
        filter: ({ name, originalSize: size }) => {
          if (name === wanted && size > MOST_PART)
            throw this.#unreadable(`it has ${size} bytes of text, which is too much`);
          return name === wanted;
        },
      });
      if (data === undefined && wanted === this.#format.main) throw this.#unreadable('there is no text in it');
      return data === undefined ? '' : strFromU8(data);
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw this.#unreadable(`its archive is broken or was cut off (${errorMessage(error)})`);
    }
  }

  #unreadable(why: string): AppError {
    return new AppError('document-unreadable', `This ${this.#format.noun} could not be read: ${why}.`);
  }
}
