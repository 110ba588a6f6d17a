import type { OfficeFile } from './office-text.ts';
import type { XmlEvent } from './xml-events.ts';

/**
 * The text of a Word document: paragraphs as lines, headings with `#`, list items with `-`, rows of tables with `|`, and the
 * notes after the body. Text that is hidden or deleted (tracked changes) is left out.
 */
export function wordText(file: OfficeFile): string {
  const body = new Paragraphs(file, 'word');
  for (const part of [undefined, 'word/footnotes.xml', 'word/endnotes.xml']) body.read(part);
  return body.lines.join('\n');
}

/**
 * The text of a PowerPoint presentation, slide by slide: its title with `#`, paragraphs as lines (deeper ones with `-`), rows
 * of tables with `|`, then its notes.
 */
export function slidesText(file: OfficeFile): string {
  const relations = file.relations();
  const parts: string[] = [];
  for (const event of file.events()) {
    const relation = isOpen(event, 'sldId') ? relations.get(event.attribute('r:id') ?? '') : undefined;
    if (relation?.type === 'slide') parts.push(relation.target);
  }
  const slides: string[] = [];
  for (const [n, part] of parts.entries()) {
    if (file.isFull) break;
    const slide = new Paragraphs(file, 'slide');
    slide.read(part);
    const notesPart = [...file.relations(part).values()].find(({ type }) => type === 'notesSlide')?.target;
    const notes = new Paragraphs(file, 'slide');
    if (notesPart !== undefined) notes.read(notesPart);
    const head = `[slide ${n + 1} of ${parts.length}${slide.isHidden ? ', hidden' : ''}]`;
    slides.push([head, ...slide.lines, ...(notes.lines.length > 0 ? ['Notes:', ...notes.lines] : [])].join('\n'));
    file.add(head.length);
  }
  return slides.join('\n\n');
}

/** Paragraph styles of headings, as Word names them in several languages; the number is the level. */
const HEADING = /^(?:heading|berschrift|überschrift|titre|titolo|título|rubrik|kop)\s*(?<level>[1-6])$/iu;
/** Elements whose text is left out: deleted or moved away, a second form of the same content, field codes. */
const SKIPPED: ReadonlySet<string> = new Set(['del', 'moveFrom', 'Fallback', 'instrText']);
/** Placeholders of slides that say the same on each. */
const REPEATED: ReadonlySet<string> = new Set(['sldNum', 'ftr', 'hdr', 'dt', 'sldImg']);
const OFF = /^(?:0|false|off)$/u;

interface Paragraph {
  line: string;
  lead: string;
}

/** By name; names of elements are strangers' words, so no object's own ones count. */
function handlers<Handler>(table: Readonly<Record<string, Handler>>): ReadonlyMap<string, Handler> {
  return new Map(Object.entries(table));
}

/** Paragraphs and tables, of which Word and PowerPoint write the same elements with other prefixes. */
class Paragraphs {
  readonly lines: string[] = [];
  /** The slide is not shown. */
  isHidden = false;
  readonly #file: OfficeFile;
  readonly #isSlide: boolean;
  /** Stack of open paragraphs: a text box inside a paragraph has paragraphs of its own. */
  readonly #paragraphs: Paragraph[] = [];
  /** Stacks of open rows (their cells) and open cells (their paragraphs): a cell may contain a table. */
  readonly #rows: string[][] = [];
  readonly #cells: string[][] = [];
  #inRun = false;
  #inText = false;
  #isVanished = false;
  #placeholder = '';
  /** How many `SKIPPED` elements are open. */
  #skipped = 0;

  /** What the start of an element means. */
  readonly #opened = handlers<(attribute: (name: string) => string | undefined, paragraph?: Paragraph) => void>({
    sld: (attribute) => (this.isHidden = OFF.test(attribute('show') ?? '')),
    sp: () => (this.#placeholder = ''),
    ph: (attribute) => (this.#placeholder = attribute('type') ?? ''),
    p: () => this.#paragraphs.push({ line: '', lead: '' }),
    pStyle: (attribute, paragraph) => {
      const level = HEADING.exec(attribute('w:val') ?? '')?.groups?.['level'];
      if (level !== undefined && paragraph !== undefined) paragraph.lead = `${'#'.repeat(Number(level))} `;
    },
    numPr: (_attribute, paragraph) => {
      if (paragraph?.lead === '') paragraph.lead = '- ';
    },
    pPr: (attribute, paragraph) => {
      const level = Math.min(Number.parseInt(attribute('lvl') ?? '0', 10) || 0, 8);
      if (level > 0 && paragraph !== undefined) paragraph.lead = `${'  '.repeat(level - 1)}- `;
    },
    r: () => {
      this.#inRun = true;
      this.#isVanished = false;
    },
    vanish: (attribute) => (this.#isVanished = !OFF.test(attribute('w:val') ?? '')),
    t: () => (this.#inText = true),
    // In the settings of a paragraph it is the place of one.
    tab: () => this.#append(this.#inRun ? '\t' : ''),
    br: () => this.#append('\n'),
    cr: () => this.#append('\n'),
    tr: () => this.#rows.push([]),
    tc: () => this.#cells.push([]),
  });
  /** What its end means. */
  readonly #closed = handlers<() => void>({
    sp: () => (this.#placeholder = ''),
    r: () => (this.#inRun = false),
    t: () => (this.#inText = false),
    p: () => this.#endParagraph(),
    tc: () => this.#rows.at(-1)?.push(oneSpace((this.#cells.pop() ?? []).join(' '))),
    tr: () => this.#write(`| ${(this.#rows.pop() ?? []).join(' | ')} |`),
  });

  constructor(file: OfficeFile, kind: 'word' | 'slide') {
    this.#file = file;
    this.#isSlide = kind === 'slide';
  }

  read(part: string | undefined): void {
    for (const event of this.#file.events(part)) {
      if (event.type === 'text') {
        if (this.#inText) this.#append(event.text);
      } else if (SKIPPED.has(event.name)) this.#skipped += event.type === 'open' ? 1 : -1;
      else if (this.#skipped > 0) continue;
      else if (event.type === 'open') this.#opened.get(event.name)?.(event.attribute, this.#paragraphs.at(-1));
      else this.#closed.get(event.name)?.();
    }
  }

  #endParagraph(): void {
    const { line = '', lead = '' } = this.#paragraphs.pop() ?? {};
    const text = this.#isSlide ? oneSpace(line) : line.trimEnd();
    if (this.#isSlide && (text === '' || REPEATED.has(this.#placeholder))) return;
    const isTitle = this.#placeholder === 'title' || this.#placeholder === 'ctrTitle';
    const shown = text.trim() === '' ? '' : `${isTitle ? '# ' : lead}${text}`;
    const inCell = (this.#isSlide ? text : shown).replaceAll('|', String.raw`\|`);
    this.#write(this.#cells.length > 0 ? inCell : shown);
  }

  /** Adds text to the innermost open paragraph. */
  #append(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph !== undefined && !this.#isVanished) paragraph.line += text;
  }

  /** Adds a line to the open cell, or to the document when no cell is open. */
  #write(text: string): void {
    (this.#cells.at(-1) ?? this.lines).push(text);
    this.#file.add(text.length + 1);
  }
}

export function isOpen(event: XmlEvent, name: string): boolean {
  return event.type === 'open' && event.name === name;
}

/** A text on one line. */
export function oneSpace(text: string): string {
  return text.replaceAll(/\s+/gu, ' ').trim();
}
