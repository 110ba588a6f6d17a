import { posix } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { AppError, errorMessage } from '../../util/errors.ts';
import { xmlEvents } from './xml-events.ts';

export type OfficeFormat = 'docx' | 'xlsx' | 'pptx';

/** How much is read: characters of the result, and how long it may take. */
export interface OfficeBounds {
  readonly mostChars: number;
  /** False ends the reading with what there is. */
  readonly hasTime: () => boolean;
}

/** What people call a document, and the part that every archive of this format has. */
const FORMATS: Readonly<Record<OfficeFormat, { readonly noun: string; readonly main: string }>> = {
  docx: { noun: 'Word document', main: 'word/document.xml' },
  xlsx: { noun: 'Excel workbook', main: 'xl/workbook.xml' },
  pptx: { noun: 'PowerPoint presentation', main: 'ppt/presentation.xml' },
};
const NAMES = Object.keys(FORMATS) as OfficeFormat[];
const TITLE = 'docProps/core.xml';
/** Cap of one unpacked part, in bytes. */
const MOST_PART = 60 * 1024 * 1024;

/** The format of an archive by the main part that it names; null: it is another archive. A document in a document does not count. */
export function officeFormat(bytes: Uint8Array): OfficeFormat | null {
  try {
    const names = namesIn(bytes);
    return NAMES.find((format) => names.has(FORMATS[format].main)) ?? null;
  } catch {
    // Cut off or broken: its first part still says what it was.
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const places = NAMES.map((format) => ({ format, at: buffer.indexOf(FORMATS[format].main) }));
    return places.filter(({ at }) => at >= 0).toSorted((a, b) => a.at - b.at)[0]?.format ?? null;
  }
}

function namesIn(bytes: Uint8Array): ReadonlySet<string> {
  const names = new Set<string>();
  unzipSync(bytes, { filter: ({ name }) => (names.add(name), false) });
  return names;
}

/** The XML parts of an Office document; each is unpacked when it is asked for. Errors are `docx-unreadable` and the like. */
export class OfficeArchive {
  readonly #bytes: Uint8Array;
  readonly #format: OfficeFormat;

  constructor(bytes: Uint8Array, format: OfficeFormat) {
    this.#bytes = bytes;
    this.#format = format;
  }

  /** The document's main part. Throws if there is none. */
  main(): string {
    const text = this.part(FORMATS[this.#format].main);
    if (text === undefined) throw this.unreadable('there is no text in it');
    return text;
  }

  /** One part; undefined if there is none. Throws for a broken archive and for a part of more than 60 MB. */
  part(wanted: string): string | undefined {
    try {
      // `unzipSync` stops at the size that the archive declares, so a part cannot unpack to more.
      const files = unzipSync(this.#bytes, {
        filter: ({ name, originalSize }) => {
          if (name !== wanted) return false;
          if (originalSize > MOST_PART) {
            throw this.unreadable(`it has ${originalSize} bytes of text, which is too much`);
          }
          return true;
        },
      });
      const data = files[wanted];
      return data === undefined ? undefined : strFromU8(data);
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw this.unreadable(`its archive is broken or was cut off (${errorMessage(error)})`);
    }
  }

  /** What a part refers to, by id. A target is the name of another part; links to other places are left out. */
  relations(part: string): ReadonlyMap<string, { readonly type: string; readonly target: string }> {
    const slash = part.lastIndexOf('/') + 1;
    const xml = this.part(`${part.slice(0, slash)}_rels/${part.slice(slash)}.rels`) ?? '';
    const found = new Map<string, { type: string; target: string }>();
    for (const event of xmlEvents(xml)) {
      if (event.type !== 'open' || localName(event.name) !== 'Relationship') continue;
      const [id, type, target] = ['Id', 'Type', 'Target'].map((name) => event.attribute(name) ?? '');
      if (!id || !target || event.attribute('TargetMode') === 'External') continue;
      const name = posix.resolve(`/${part.slice(0, slash)}`, target).slice(1);
      found.set(id, { type: (type ?? '').split('/').at(-1) ?? '', target: name });
    }
    return found;
  }

  /** The title that the document's properties give it. */
  title(): string | null {
    let title = '';
    let isOpen = false;
    for (const event of xmlEvents(this.part(TITLE) ?? '')) {
      if (event.type === 'text') title += isOpen ? event.text : '';
      else if (event.name === 'dc:title') isOpen = event.type === 'open';
    }
    return title.trim() === '' ? null : title.trim();
  }

  unreadable(why: string): AppError {
    return new AppError(`${this.#format}-unreadable`, `This ${FORMATS[this.#format].noun} could not be read: ${why}.`);
  }
}

/** A name without the prefix of its namespace. */
export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
