import type { DocumentText } from './pdf-text.ts';
import { OfficeArchive } from './office-archive.ts';
import { xmlEvents } from './xml-events.ts';
import { cut as shortened } from '../../util/text.ts';

/** Parts with text for people beside the body, in the order of the result. */
const NOTES = ['word/footnotes.xml', 'word/endnotes.xml'];

/**
 * The text of a Word document: paragraphs as lines, headings with `#`, list items with `-`, rows of tables with `|`.
 * Text that is hidden or deleted (tracked changes) is left out. Throws `docx-unreadable` for a broken or too large document.
 */
export function docxText(bytes: Uint8Array, { mostChars }: { readonly mostChars: number }): DocumentText {
  const archive = new OfficeArchive(bytes, 'docx');
  const reader = new BodyReader(mostChars);
  reader.read(archive.main());
  for (const name of NOTES) reader.read(archive.part(name) ?? '');
  return { ...reader.end(), title: archive.title() };
}

/** Paragraph styles of headings, as Word names them in several languages; the number is the level. */
const HEADING = /^(?:heading|berschrift|überschrift|titre|titolo|título|rubrik|kop)\s*(?<level>[1-6])$/iu;
/** Elements whose text is left out: deleted or moved away, a second form of the same content, field codes. */
const SKIPPED: ReadonlySet<string> = new Set(['w:del', 'w:moveFrom', 'mc:Fallback', 'w:instrText']);

class BodyReader {
  readonly #mostChars: number;
  readonly #lines: string[] = [];
  #length = 0;
  /** Stack of open paragraphs: a text box inside a paragraph has paragraphs of its own. */
  readonly #paragraphs: { line: string; prefix: string }[] = [];
  #isHidden = false;
  #inRun = false;
  #inText = false;
  /** How many `SKIPPED` elements are open. */
  #skipped = 0;
  /** Stacks of open rows (their cells) and open cells (their paragraphs): a cell may contain a table. */
  readonly #rows: string[][] = [];
  readonly #cells: string[][] = [];
  #isFull = false;

  constructor(mostChars: number) {
    this.#mostChars = mostChars;
  }

  read(xml: string): void {
    for (const event of xmlEvents(xml)) {
      if (this.#isFull) return;
      if (event.type === 'text') {
        if (this.#inText) this.#append(event.text);
      } else if (SKIPPED.has(event.name)) {
        this.#skipped += event.type === 'open' ? 1 : -1;
      } else if (this.#skipped === 0) {
        if (event.type === 'open') this.#open(event.name, event.attribute);
        else this.#close(event.name);
      }
    }
  }

  end(): { readonly text: string; readonly cut: boolean } {
    return { text: shortened(this.#lines.join('\n'), this.#mostChars), cut: this.#isFull };
  }

  #open(name: string, attribute: (name: string) => string | undefined): void {
    const paragraph = this.#paragraphs.at(-1);
    switch (name) {
      case 'w:p':
        this.#paragraphs.push({ line: '', prefix: '' });
        return;
      case 'w:pStyle': {
        const level = HEADING.exec(attribute('w:val') ?? '')?.groups?.['level'];
        if (level !== undefined && paragraph !== undefined) paragraph.prefix = `${'#'.repeat(Number(level))} `;
        return;
      }
      case 'w:numPr':
        if (paragraph?.prefix === '') paragraph.prefix = '- ';
        return;
      case 'w:r':
        this.#inRun = true;
        this.#isHidden = false;
        return;
      case 'w:vanish':
        this.#isHidden = !/^(?:0|false|off)$/u.test(attribute('w:val') ?? '');
        return;
      case 'w:t':
        this.#inText = true;
        return;
      case 'w:tab':
        if (this.#inRun) this.#append('\t');
        return;
      case 'w:br':
      case 'w:cr':
        this.#append('\n');
        return;
      case 'w:tr':
        this.#rows.push([]);
        return;
      case 'w:tc':
        this.#cells.push([]);
        return;
    }
  }

  #close(name: string): void {
    switch (name) {
      case 'w:r':
        this.#inRun = false;
        return;
      case 'w:t':
        this.#inText = false;
        return;
      case 'w:p': {
        const { line = '', prefix = '' } = this.#paragraphs.pop() ?? {};
        this.#write(line.trim() === '' ? '' : `${prefix}${line.trimEnd()}`);
        return;
      }
      case 'w:tc': {
        const paragraphs = this.#cells.pop() ?? [];
        this.#rows.at(-1)?.push(paragraphs.join(' ').replaceAll(/\s+/gu, ' ').trim());
        return;
      }
      case 'w:tr':
        this.#write(`| ${(this.#rows.pop() ?? []).join(' | ')} |`);
        return;
    }
  }

  /** Adds text to the innermost open paragraph. */
  #append(text: string): void {
    const paragraph = this.#paragraphs.at(-1);
    if (paragraph !== undefined && !this.#isHidden) paragraph.line += text;
  }

  /** Adds a line to the open cell, or to the document when no cell is open. */
  #write(text: string): void {
    (this.#cells.at(-1) ?? this.#lines).push(text);
    this.#length += text.length + 1;
    this.#isFull ||= this.#length > this.#mostChars;
  }
}
