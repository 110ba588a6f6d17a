import type { DocumentText } from './pdf-text.ts';
import { localName, OfficeArchive, type OfficeBounds } from './office-archive.ts';
import { xmlEvents } from './xml-events.ts';
import { cut as shortened } from '../../util/text.ts';

const MAIN = 'ppt/presentation.xml';

/**
 * The text of a PowerPoint presentation, slide by slide: its title with `#`, paragraphs as lines (deeper ones with `-`), rows
 * of tables with `|`, then its notes. Throws `pptx-unreadable` for a broken or too large document.
 */
export function pptxText(bytes: Uint8Array, { mostChars, hasTime }: OfficeBounds): DocumentText {
  const archive = new OfficeArchive(bytes, 'pptx');
  const slides = slidesOf(archive);
  const texts: string[] = [];
  let length = 0;
  let cut = false;
  for (const [n, part] of slides.entries()) {
    const slide = new ShapesReader(mostChars - length, hasTime);
    slide.read(archive.part(part) ?? '');
    const lines = [`[slide ${n + 1} of ${slides.length}${slide.isHidden ? ', hidden' : ''}]`, ...slide.lines];
    const notes = [...archive.relations(part).values()].find(({ type }) => type === 'notesSlide');
    if (notes !== undefined && !slide.isFull) {
      const reader = new ShapesReader(mostChars - length, hasTime);
      reader.read(archive.part(notes.target) ?? '');
      if (reader.lines.length > 0) lines.push('Notes:', ...reader.lines);
      cut ||= reader.isFull;
    }
    const text = lines.join('\n');
    texts.push(text);
    length += text.length + 2;
    cut ||= slide.isFull || length > mostChars || !hasTime();
    if (cut) break;
  }
  return { text: shortened(texts.join('\n\n'), mostChars), cut, title: archive.title() };
}

/** The parts of the slides, in the order in which they are shown. */
function slidesOf(archive: OfficeArchive): readonly string[] {
  const relations = archive.relations(MAIN);
  const slides: string[] = [];
  for (const event of xmlEvents(archive.main())) {
    if (event.type !== 'open' || localName(event.name) !== 'sldId') continue;
    const relation = relations.get(event.attribute('r:id') ?? '');
    if (relation?.type === 'slide') slides.push(relation.target);
  }
  return slides;
}

/** Placeholders that say the same on every slide. */
const REPEATED: ReadonlySet<string> = new Set(['sldNum', 'ftr', 'hdr', 'dt', 'sldImg']);
const TITLES: ReadonlySet<string> = new Set(['title', 'ctrTitle']);
/** Events between two looks at the clock. */
const EVENTS_AT_ONCE = 5_000;

/** Reads the texts of one slide or of its notes. */
class ShapesReader {
  readonly lines: string[] = [];
  isHidden = false;
  isFull = false;
  readonly #mostChars: number;
  readonly #hasTime: () => boolean;
  #length = 0;
  #placeholder = '';
  #line = '';
  #level = 0;
  #inText = false;
  /** How many second forms of the same content are open. */
  #skipped = 0;
  #row: string[] | undefined;
  #cell: string[] | undefined;

  constructor(mostChars: number, hasTime: () => boolean) {
    this.#mostChars = mostChars;
    this.#hasTime = hasTime;
  }

  read(xml: string): void {
    let events = 0;
    for (const event of xmlEvents(xml)) {
      events += 1;
      if (events % EVENTS_AT_ONCE === 0 && !this.#hasTime()) this.isFull = true;
      if (this.isFull) return;
      if (event.type === 'text') {
        if (this.#inText && this.#skipped === 0) this.#line += event.text;
      } else if (event.name === 'mc:Fallback') {
        this.#skipped += event.type === 'open' ? 1 : -1;
      } else if (this.#skipped === 0) {
        if (event.type === 'open') this.#open(localName(event.name), event.attribute);
        else this.#close(localName(event.name));
      }
    }
  }

  #open(name: string, attribute: (name: string) => string | undefined): void {
    switch (name) {
      case 'sld':
        this.isHidden = /^(?:0|false)$/u.test(attribute('show') ?? '');
        return;
      case 'sp':
        this.#placeholder = '';
        return;
      case 'ph':
        this.#placeholder = attribute('type') ?? '';
        return;
      case 'p':
        this.#line = '';
        this.#level = 0;
        return;
      case 'pPr':
        this.#level = Math.min(Number.parseInt(attribute('lvl') ?? '0', 10) || 0, 8);
        return;
      case 't':
        this.#inText = true;
        return;
      case 'br':
        this.#line += ' ';
        return;
      case 'tr':
        this.#row = [];
        return;
      case 'tc':
        this.#cell = [];
        return;
    }
  }

  #close(name: string): void {
    switch (name) {
      case 'sp':
        this.#placeholder = '';
        return;
      case 't':
        this.#inText = false;
        return;
      case 'p':
        this.#endParagraph();
        return;
      case 'tc':
        this.#row?.push((this.#cell ?? []).join(' '));
        this.#cell = undefined;
        return;
      case 'tr':
        if (this.#row !== undefined) this.#write(`| ${this.#row.join(' | ')} |`);
        this.#row = undefined;
        return;
    }
  }

  #endParagraph(): void {
    const text = this.#line.replaceAll(/\s+/gu, ' ').trim();
    this.#line = '';
    if (text === '' || REPEATED.has(this.#placeholder)) return;
    if (this.#cell !== undefined) {
      this.#cell.push(text.replaceAll('|', String.raw`\|`));
      return;
    }
    const lead = TITLES.has(this.#placeholder) ? '# ' : this.#level > 0 ? `${'  '.repeat(this.#level - 1)}- ` : '';
    this.#write(`${lead}${text}`);
  }

  #write(line: string): void {
    this.lines.push(line);
    this.#length += line.length + 1;
    this.isFull ||= this.#length > this.#mostChars;
  }
}
