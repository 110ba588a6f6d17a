import { nearFacts } from '../facts/near.ts';
import {
  addHeading,
  addToSection,
  bulletOf,
  endOfSection,
  factKey,
  factLines,
  factOf,
  headingOf,
  recordKey,
} from './facts.ts';

/** One change of MEMORY.md. */
export interface FactChange {
  /** One line; empty to remove the line that `replaces` names. */
  readonly fact: string;
  /** Words of the line that is changed or removed. */
  readonly replaces?: string;
  /** Text of the heading that it belongs under; made at the end of the file when missing. */
  readonly section?: string;
}

export type FactOutcome =
  | {
      readonly outcome: 'added' | 'changed' | 'removed' | 'unchanged';
      /** The fact as it is there now, or was before it was removed. */
      readonly fact: string;
      /** Facts that stand beside an added one and may say another value of the same thing. @default none */
      readonly near?: readonly string[];
    }
  /** Nothing was done; `candidates` are the facts that come close. */
  | { readonly outcome: 'no-match' | 'ambiguous'; readonly candidates: readonly string[] };

const MOST_CANDIDATES = 8;
const LONGEST_SECTION = 80;

/**
 * Applies one change to the text of MEMORY.md. A fact that is there already, wherever and in whatever case, is not
 * added again, and no other line is changed into it. `replaces` is searched for without regard to case and white
 * space; a line that is nothing but these words wins over lines that contain them. Lines that say the same are one. A line
 * that `replaces` gives as a whole leaves also when the fact is there already.
 */
export function editFact(text: string, change: FactChange): FactOutcome & { readonly text: string } {
  const fact = harmless(change.fact);
  const section = harmless(change.section ?? '')
    .replace(/^#+\s*/u, '')
    .slice(0, LONGEST_SECTION)
    .trim();
  const facts = factLines(text);
  const present = facts.find((line) => lineKey(line.fact) === factKey(fact));
  if (change.replaces === undefined || factKey(change.replaces) === '') {
    if (present !== undefined) return { outcome: 'unchanged', fact: present.fact, text };
    const near = nearFacts(fact, besides(text, facts, section));
    return {
      outcome: 'added',
      fact,
      text: withFact(text, `- ${fact}`, section),
      ...(near.length === 0 ? {} : { near }),
    };
  }
  const found = matches(facts, change.replaces);
  if (fact !== '' && present !== undefined && !found.some((line) => factKey(line.fact) === factKey(present.fact))) {
    // This very change may have been made before; words that named one line then can name another one now, a whole line cannot.
    const whole = found.filter((line) => factKey(line.fact) === factKey(change.replaces ?? ''));
    if (whole.length === 0) return { outcome: 'unchanged', fact: present.fact, text };
    const rest = without(text.split('\n'), new Set(whole.map((line) => line.index)));
    return { outcome: 'changed', fact: present.fact, text: rest };
  }
  const [old] = found;
  if (old === undefined) return { outcome: 'no-match', candidates: nearest(facts, change.replaces), text };
  if (new Set(found.map((line) => factKey(line.fact))).size > 1) {
    return { outcome: 'ambiguous', candidates: found.map((line) => line.fact).slice(0, MOST_CANDIDATES), text };
  }
  const lines = text.split('\n');
  const gone = new Set(found.map((line) => line.index));
  if (fact === '') return { outcome: 'removed', fact: old.fact, text: without(lines, gone) };
  const moves = section !== '' && factKey(sectionAt(lines, old.index)) !== factKey(section);
  if (moves) return { outcome: 'changed', fact, text: withFact(without(lines, gone), `- ${fact}`, section) };
  lines[old.index] = bulletOf(lines[old.index] ?? '') + fact;
  gone.delete(old.index);
  const changed = without(lines, gone);
  return { outcome: changed === text ? 'unchanged' : 'changed', fact, text: changed };
}

/** One line that is neither a heading nor a list mark nor hides what follows it. */
function harmless(text: string): string {
  const line = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll('<!--', '<! --')
    .replaceAll('-->', '-- >');
  return factOf(line.toWellFormed()).replace(/^#+ /u, '').trim();
}

type FactLine = ReturnType<typeof factLines>[number];

/** `factKey` of a line as it would be written here. A person may have put marks into it that are never written. */
function lineKey(line: string): string {
  return factKey(harmless(line));
}

/** Lines that are the words, else lines that contain them, else the same without regard to emphasis and quotation marks. */
function matches(facts: readonly FactLine[], words: string): readonly FactLine[] {
  for (const keyOf of [lineKey, (line: string) => recordKey(harmless(line))]) {
    const wanted = keyOf(words);
    const exact = facts.filter(({ fact }) => keyOf(fact) === wanted);
    const found = exact.length > 0 ? exact : facts.filter(({ fact }) => wanted !== '' && keyOf(fact).includes(wanted));
    if (found.length > 0) return found;
  }
  return [];
}

/** The facts beside which one in this section stands: of another heading's facts some other person or thing may be meant. */
function besides(text: string, facts: readonly FactLine[], section: string): readonly string[] {
  const lines = text.split('\n');
  const isMeant = ({ index }: FactLine): boolean => {
    const heading = lines.slice(0, index).findLast((line) => headingOf(line) !== undefined) ?? '';
    const { level = 1, text: named = '' } = headingOf(heading) ?? {};
    return section === '' || level === 1 || factKey(named) === factKey(section);
  };
  return facts.filter(isMeant).map(({ fact }) => fact);
}

/** The facts that share most words with what was searched for. */
function nearest(facts: readonly FactLine[], words: string): readonly string[] {
  const wanted = new Set(wordsOf(words));
  return facts
    .map(({ fact }) => ({ fact, shared: wordsOf(fact).filter((word) => wanted.has(word)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .map(({ fact }) => fact)
    .slice(0, MOST_CANDIDATES);
}

function wordsOf(text: string): readonly string[] {
  return [...new Set(factKey(text).match(/[\p{L}\p{N}]+/gu))];
}

function without(lines: readonly string[], gone: ReadonlySet<number>): string {
  return lines.filter((_, index) => !gone.has(index)).join('\n');
}

/** The heading above a line; empty where there is none. */
function sectionAt(lines: readonly string[], index: number): string {
  const above = lines.slice(0, index).findLast((line) => headingOf(line) !== undefined);
  return above === undefined ? '' : (headingOf(above)?.text ?? '');
}

function withFact(text: string, line: string, section: string): string {
  const lines = (text.trim() === '' ? '# Memory\n' : text).split('\n');
  addToSection(lines, headingFor(lines, section), line);
  return lines.join('\n');
}

/** Without a section: below the title, where the file begins with one. */
function headingFor(lines: string[], section: string): number {
  if (section === '') {
    const first = lines.findIndex((line) => line.trim() !== '');
    return headingOf(lines[first] ?? '')?.level === 1 ? first : -1;
  }
  const there = lines.findIndex((line) => factKey(headingOf(line)?.text ?? '') === factKey(section));
  if (there !== -1 && headingOf(lines[there] ?? '') !== undefined) return there;
  return addHeading(lines, endOfSection(lines, lines.length), `## ${section}`);
}
