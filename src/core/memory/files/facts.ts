/** MEMORY.md as lines: what is a fact, what is a heading, and where a line goes. All pure. */

export interface Heading {
  /** 1 to 6. */
  readonly level: number;
  readonly text: string;
}

const BULLET = /^\s*(?:[-*+]|\d+[.)])\s+/u;
const COMMENT = /<!--[\s\S]*?-->/gu;

export function headingOf(line: string): Heading | undefined {
  const match = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/u.exec(line.trimEnd());
  if (match === null) return undefined;
  return { level: (match[1] ?? '').length, text: (match[2] ?? '').replace(/\s#+$/u, '').trim() };
}

/** The list mark that a line begins with, with its indent; empty for a line without one. */
export function bulletOf(line: string): string {
  return BULLET.exec(line)?.[0] ?? '';
}

/** What a line says: without list mark, each run of white space one blank, one Unicode form. */
export function factOf(line: string): string {
  return line.slice(bulletOf(line).length).normalize('NFC').replace(/\s+/gu, ' ').trim();
}

/** What makes two facts the same: what they say, without regard to case. */
export function factKey(text: string): string {
  return factOf(text).toLowerCase();
}

/** As `factKey`, without regard to emphasis, quotation marks and the full stop at the end: a fact that was only written anew. */
export function recordKey(text: string): string {
  const plain = factKey(text).replace(/[*_`~"“”„«»]+/gu, '');
  return plain.replace(/[\s.。;,]+$/u, '') || factKey(text);
}

/**
 * The lines that hold facts: all but empty lines, headings, HTML comments, and lines without a letter, digit or
 * picture (rules, fences).
 */
export function factLines(text: string): readonly { readonly index: number; readonly fact: string }[] {
  const masked = text.replace(COMMENT, (comment) => comment.replace(/[^\n]/gu, ' ')).split('\n');
  return text.split('\n').flatMap((line, index) => {
    const seen = masked[index] ?? '';
    return headingOf(line) === undefined && /[\p{L}\p{N}\p{So}]/u.test(seen) ? [{ index, fact: factOf(line) }] : [];
  });
}

/**
 * Whether `after` holds less than half of what `before` held, measured twice over the different facts: their number,
 * and their characters. Repeating a fact adds nothing, so that dropping repeats is no loss.
 */
export function losesMoreThanHalf(before: string, after: string): boolean {
  const [old, left] = [sizeOf(before), sizeOf(after)];
  return left.facts * 2 < old.facts || left.characters * 2 < old.characters;
}

function sizeOf(text: string): { readonly facts: number; readonly characters: number } {
  const facts = new Set(factLines(text).map(({ fact }) => fact));
  return { facts: facts.size, characters: [...facts].reduce((sum, fact) => sum + fact.length, 0) };
}

/** Where the lines below a heading end: at the next heading of `level` or above. `start` is the line after it. */
export function endOfSection(lines: readonly string[], start: number, level = 6): number {
  const next = lines.findIndex((line, i) => i >= start && (headingOf(line)?.level ?? 7) <= level);
  return next === -1 ? lines.length : next;
}

/** Adds a line to the end of the section whose heading is line `heading` (-1: what stands before all headings). */
export function addToSection(lines: string[], heading: number, line: string): void {
  const end = endOfSection(lines, heading + 1);
  const last = lines.slice(0, end).findLastIndex((other) => other.trim() !== '');
  const before = last > heading ? (lines[last] ?? '') : undefined;
  const apart = last >= 0 && (before === undefined || before.trimEnd().endsWith('-->'));
  // An empty line that is there already is used, unless it is only the end of the file.
  const used = apart && lines[last + 1]?.trim() === '' && last + 2 < lines.length;
  const at = used ? last + 2 : last + 1;
  const next = lines[at];
  const gap = apart && !used ? [''] : [];
  lines.splice(at, 0, ...gap, line, ...(next !== undefined && next.trim() !== '' ? [''] : []));
}

/** Puts a heading in front of line `at`, with an empty line on either side; returns where it stands now. */
export function addHeading(lines: string[], at: number, heading: string): number {
  const last = lines.slice(0, at).findLastIndex((line) => line.trim() !== '');
  const next = lines[last + 1];
  const apart = last >= 0 ? [''] : [];
  lines.splice(last + 1, 0, ...apart, heading, ...(next !== undefined && next.trim() !== '' ? [''] : []));
  return last + 1 + apart.length;
}
