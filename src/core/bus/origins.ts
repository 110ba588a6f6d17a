/**
 * How messages of one origin are treated, and the turns that begin with them. The core and the extensions each bring the
 * rows of their own messages. A flag that is left out means the more careful treatment.
 */
export interface Origin {
  /** The `origin` of its messages, also on tapes and in the sums of usage. */
  readonly name: string;
  /**
   * Somebody asks for these turns, so their progress is shown and messages may join them. Without it the assistant starts
   * them by itself: they run unseen and have budgets of their own.
   */
  readonly isAsked?: true;
  /** Somebody reads how the turn ends and can answer. */
  readonly hasReader?: true;
  /** Its messages may call commands and skills. */
  readonly mayCommand?: true;
  /** People or programs wrote its messages, not a model. */
  readonly isByPeople?: true;
  /**
   * No person reads the last text of its turns as it is: it is a report, which is sent where that is worth it. The prompt is
   * short, and the tool `message` is not for its own chat.
   */
  readonly isReport?: true;
  /** Its sessions are named `<name>:<job>`, and usage is summed for each job. */
  readonly hasJobs?: true;
  /** The name that its model calls have in the sums of usage. @default its own */
  readonly countsAs?: string;
  /** What people read when a turn fails. `sentence`: why it failed. @default the sentence */
  readonly failed?: (sentence: string, metadata: Readonly<Record<string, unknown>>) => string;
}

/** The rows of a program by name. */
export interface Origins {
  readonly all: readonly Origin[];
  /** The row of this name. A name from the disk may be that of an extension that is gone: then it has no flags. */
  readonly of: (name: string) => Origin;
}

/** Messages of people, of programs that use an API, and of the program itself. */
const OWN: readonly Origin[] = [
  { name: 'user', isAsked: true, hasReader: true, mayCommand: true, isByPeople: true },
  { name: 'api', isAsked: true, hasReader: true, isByPeople: true },
  { name: 'system', isAsked: true, hasReader: true, mayCommand: true, isByPeople: true, countsAs: 'user' },
];

export function originsOf(rows: readonly Origin[]): Origins {
  const all = [...OWN, ...rows];
  return { all, of: (name) => all.find((row) => row.name === name) ?? { name } };
}

/** Whether no person waits for the model calls of these turns: they are a job's, or for what a model asked for. */
export function isOwnWork({ isAsked, isByPeople }: Origin): boolean {
  return isAsked !== true || isByPeople !== true;
}

/** The names of such work in the sums of usage. */
export function ownWork({ all }: Origins): readonly string[] {
  return [...all.filter(isOwnWork).map(({ name }) => name), 'memory', 'embeddings'];
}
