/** What is asked in a kind of question, as the table of the measurement names it. */
export const KINDS = ['paraphrase', 'names', 'dates', 'negation', 'contradiction'] as const;

export type Kind = (typeof KINDS)[number];

/** What each person of the synthetic world has: a text with `{p}` for the name and `{v}` for the value. */
export interface Trait {
  readonly text: string;
  /** One for each person; `day`, `phone` and `person` are made. */
  readonly values: readonly string[] | 'day' | 'phone' | 'person';
  /** Asks for the value by the name, in words of its own. */
  readonly what: string;
  /** Asks for the name by the value. */
  readonly who: string;
}

/** The compact source of one language. All persons and facts are invented. */
export interface GoldLanguage {
  readonly people: readonly string[];
  readonly traits: readonly Trait[];
  /** How this language writes a day of a year. */
  readonly day: (month: number, day: number) => string;
  /** What happened, at times that are made: `{p}` and `{v}` as above. They are asked for by nobody. */
  readonly events: { readonly texts: readonly string[]; readonly values: readonly string[] };
  /** A fact, and a question that shares no telling word with it. */
  readonly paraphrases: readonly (readonly [fact: string, question: string])[];
  /** Facts about the same things, which answer none of the questions. */
  readonly near: readonly string[];
  /** What is not so, a question for it, and what is so nearby. */
  readonly negations: readonly (readonly [fact: string, question: string, near: string])[];
  /** What was so, what is so now, and a question for what is so now. */
  readonly changes: readonly (readonly [before: string, now: string, question: string])[];
  /** What happened on a day, a question that names the time, and what happened likewise on another day. */
  readonly dates: readonly (readonly [on: string, fact: string, question: string, otherDay: string, near: string])[];
}

/** The parts of a text between bars. */
export function list(text: string): readonly string[] {
  return text.split('|').map((part) => part.trim());
}
