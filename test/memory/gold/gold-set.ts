import { chinese } from './chinese.ts';
import { english } from './english.ts';
import { german } from './german.ts';
import { KINDS, type GoldLanguage, type Kind, type Trait } from './gold-language.ts';

export type GoldLanguageName = keyof typeof LANGUAGES;

/** A fact of the synthetic memory; texts are unique. */
export interface GoldMemory {
  readonly text: string;
  /** Milliseconds since 1970; null: a fact of MEMORY.md, which has no time. */
  readonly at: number | null;
}

export interface GoldQuestion {
  readonly language: GoldLanguageName;
  readonly kind: Kind;
  readonly text: string;
  /** The text of the one memory that answers it. */
  readonly answer: string;
}

export interface GoldSet {
  readonly memories: readonly GoldMemory[];
  readonly questions: readonly GoldQuestion[];
  /** When the questions are asked. */
  readonly now: number;
}

const LANGUAGES = { English: english, German: german, Chinese: chinese } as const;
/** A Thursday. */
const NOW = Date.parse('2026-10-15T12:00:00Z');
const DAY_MS = 86_400_000;
/** Events that nobody asks for, and questions for names, of each language. */
const EVENTS = 80;
const NAMES = 10;

/** The languages and kinds of the set, in the order of the table. */
export const GOLD_LANGUAGES = Object.keys(LANGUAGES) as readonly GoldLanguageName[];
export { KINDS as GOLD_KINDS };

/** Builds the set: the same one each time. */
export function buildGoldSet(): GoldSet {
  const parts = GOLD_LANGUAGES.map((name) => partOf(name, LANGUAGES[name]));
  return {
    memories: parts.flatMap(({ memories }) => memories),
    questions: parts.flatMap(({ questions }) => questions),
    now: NOW,
  };
}

function partOf(language: GoldLanguageName, source: GoldLanguage): Omit<GoldSet, 'now'> {
  const memories: GoldMemory[] = [];
  const questions: GoldQuestion[] = [];
  const keep = (text: string, at: number | null = null): string => {
    memories.push({ text, at });
    return text;
  };
  const ask = (kind: Kind, text: string, answer: string): void => {
    questions.push({ language, kind, text, answer });
  };

  const { people, traits } = source;
  for (const [n, trait] of traits.entries()) {
    for (const [person, name] of people.entries()) {
      const value = valueOf(source, trait, { trait: n, person });
      const fact = keep(filled(trait.text, name, value));
      if (person !== (n * 7 + 3) % people.length || n >= NAMES) continue;
      ask('names', filled(n % 2 === 0 ? trait.what : trait.who, name, value), fact);
    }
  }
  for (let n = 0; n < EVENTS; n += 1) {
    const { texts, values } = source.events;
    const text = texts[n % texts.length] ?? '';
    // Each event is another one, on days that the questions do not ask for alone.
    const value = values[(n * 3 + Math.floor(n / values.length)) % values.length] ?? '';
    keep(filled(text, people[(n * 11 + Math.floor(n / 20)) % people.length] ?? '', value), NOW - (n * 5 + 1) * DAY_MS);
  }
  for (const text of source.near) keep(text);
  for (const [fact, question] of source.paraphrases) ask('paraphrase', question, keep(fact));
  for (const [fact, question, near] of source.negations) {
    keep(near);
    ask('negation', question, keep(fact));
  }
  for (const [n, [before, now, question]] of source.changes.entries()) {
    keep(before, NOW - (300 + n) * DAY_MS);
    ask('contradiction', question, keep(now, NOW - (40 + n) * DAY_MS));
  }
  for (const [on, fact, question, otherDay, near] of source.dates) {
    keep(near, noonOf(otherDay));
    ask('dates', question, keep(fact, noonOf(on)));
  }
  return { memories, questions };
}

function valueOf(
  { people, day }: GoldLanguage,
  { values }: Trait,
  { trait, person }: { readonly trait: number; readonly person: number },
): string {
  switch (values) {
    case 'day':
      return day(((person * 5) % 12) + 1, ((person * 13) % 28) + 1);
    case 'phone':
      return `0${(660_000_000 + person * 7_654_321 + trait * 131).toString()}`;
    case 'person':
      return people[(person + 9) % people.length] ?? '';
    default:
      return values[person % values.length] ?? '';
  }
}

function filled(text: string, name: string, value: string): string {
  return text.replace('{p}', () => name).replace('{v}', () => value);
}

function noonOf(date: string): number {
  return Date.parse(`${date}T12:00:00Z`);
}
