/** The mark in front of what was sent again although the platform may have the first copy. */
const MARK = '↻ ';

/** What one knows when all is over: what was asked for, each thing by a name, and what people saw. */
export interface Evidence {
  /** Everything that was asked for, or was due. */
  readonly asked: readonly string[];
  /** What people saw, oldest first, as it is shown. */
  readonly texts: readonly string[];
  /** The names that a text without its mark answers. None for a notice, whatever answer it quotes. */
  readonly answered: (text: string) => readonly string[];
  /** The names that a text gives up. */
  readonly gaveUp: (text: string) => readonly string[];
  /** Texts of answers that ended without arriving and of which a delivered notice told, as the journal has them. */
  readonly told: readonly string[];
  /** Texts, with or without markup, of what may have been sent as a process ended. */
  readonly uncertain: readonly string[];
}

export interface Verdict {
  /** Neither answered, nor given up with a notice, nor told of as undelivered. */
  readonly lost: readonly string[];
  /** Answered twice without a mark. */
  readonly doubled: readonly string[];
  /** Answered by more than one marked copy: a resend that was sent again. */
  readonly tripled: readonly string[];
  /** Marked texts of which nobody could doubt that they were not sent before. */
  readonly wrongMarks: readonly string[];
  readonly answered: number;
  readonly marks: number;
  readonly gaveUp: number;
}

/** Judges what people were told. A notice that quotes an answer is no copy of it. */
export function judgeTexts({ asked, texts, answered, gaveUp, told, uncertain }: Evidence): Verdict {
  const marked = texts.filter(isMarked).map(unmarked);
  const plain = texts.filter((text) => !isMarked(text));
  const [first, again] = [plain.flatMap(answered), marked.flatMap(answered)];
  const givenUp = new Set(texts.map(unmarked).flatMap(gaveUp));
  const known = new Set([...first, ...again, ...givenUp, ...told.flatMap((text) => answered(shown(text)))]);
  const sent = uncertain.map(shown).filter(Boolean);
  // Of a message in parts either the part or all of it is known.
  const couldBeSent = (text: string): boolean => sent.some((one) => one === text || one.includes(text));
  return {
    lost: asked.filter((name) => !known.has(name)),
    doubled: repeated(first),
    tripled: repeated(again),
    wrongMarks: marked.filter((text) => !couldBeSent(shown(text))),
    answered: new Set([...first, ...again]).size,
    marks: marked.length,
    gaveUp: givenUp.size,
  };
}

export interface EffectVerdict {
  /** Effects that happened more than once. */
  readonly repeatedEffects: readonly string[];
  /** Effects that did not happen, although people read neither that it was given up nor that nobody knows. */
  readonly missingEffects: readonly string[];
}

/** Judges what commands did. `explained`: given up, or interrupted by a call whose outcome nobody knows. */
export function judgeEffects(run: {
  readonly asked: readonly string[];
  /** One for each time that it happened. */
  readonly done: readonly string[];
  readonly explained: readonly string[];
}): EffectVerdict {
  const known = new Set([...run.done, ...run.explained]);
  return { repeatedEffects: repeated(run.done), missingEffects: run.asked.filter((name) => !known.has(name)) };
}

export function isMarked(text: string): boolean {
  return text.startsWith(MARK);
}

function unmarked(text: string): string {
  return isMarked(text) ? text.slice(MARK.length) : text;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** HTML or Markdown as a person sees it. */
function shown(text: string): string {
  return text
    .replaceAll(/<[^>]*>|`/gu, '')
    .replaceAll(/&(lt|gt|quot|amp);/gu, (_, name: string) => ENTITIES[name] ?? '')
    .replaceAll(/\s+/gu, ' ')
    .trim();
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}
