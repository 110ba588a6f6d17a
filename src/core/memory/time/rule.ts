import type { Days, Today } from './calendar.ts';

/** What a rule found: the named groups of its expression; those that did not take part are undefined. */
export type Found = Readonly<Record<string, string | undefined>>;

/** One way in which people name a time. */
export interface TimeRule {
  /** With the flags `giu`. A group `how` is one of the words that `Direction` stands for. */
  readonly find: RegExp;
  /** The days; null: these words are no time here. */
  readonly days: (found: Found, today: Today) => Days | null;
  /** The words name a day, month or year of the calendar, so that a text can name the same. @default false */
  readonly isDate?: true;
}

/** What stands before or behind a time and opens it to one side. */
export type Direction = 'since' | 'after' | 'before' | 'until';

export interface Language {
  readonly rules: readonly TimeRule[];
  readonly directions: Readonly<Record<string, Direction>>;
}

/** An expression that begins and ends with a word. */
export function wordRule(source: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${source})(?![\\p{L}\\p{N}])`, 'giu');
}

export function numberOf(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

/** Day, month and year in figures, as all languages write them. */
export const FIGURES = wordRule(
  String.raw`(?:(?<how>since|after|before|until|seit|nach|vor|bis)\s+)?(?:on\s+|in\s+|am\s+|im\s+)?(?<year>\d{4})-(?<month>\d\d)(?:-(?<day>\d\d))?`,
);
