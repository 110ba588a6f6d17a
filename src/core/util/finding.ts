/**
 * How something is. `note`: worth knowing, nothing has to be done. `warning`: it works, but not as it could, or not for long.
 * `failed`: it does not work. `skipped`: it was not looked at.
 */
export type State = 'ok' | 'note' | 'warning' | 'failed' | 'skipped';

/** What was found of one thing, without its id: a check of `assistant doctor` gives each of its findings its own. */
export interface Found {
  readonly state: State;
  /** One sentence or two. */
  readonly says: string;
  /** The command that mends it, or else what to do, without a full stop; null: nothing has to be done. */
  readonly remedy: string | null;
  /** What stands before the remedy in a text, where that is a command, such as `To go back to a backup`. @default the remedy is words */
  readonly lead?: string;
  /** What it is about, for code: a path, a setting, a variable, a channel, a plugin. @default nothing */
  readonly facts?: Readonly<Record<string, string>>;
  /** Mends it, and returns what was done, as a sentence. Only what can never lose anything has one. */
  readonly repair?: () => Promise<string>;
}

/** A problem, made where it is detected, or how one thing is. */
export interface Finding extends Found {
  /** Stable, such as `config.mode`; also that of a check of `assistant doctor`, where one looks at the same. */
  readonly id: string;
}

export function ok(says: string): Found {
  return { state: 'ok', says, remedy: null };
}

export function note(says: string, remedy: string | null = null): Found {
  return { state: 'note', says, remedy };
}

export function warning(says: string, remedy: string | null = null): Found {
  return { state: 'warning', says, remedy };
}

export function failed(says: string, remedy: string | null = null): Found {
  return { state: 'failed', says, remedy };
}

export function skipped(says: string): Found {
  return { state: 'skipped', says, remedy: null };
}

/** A finding with what to do, for logs, chats and terminals. */
export function sentenceOf({ says, remedy, lead }: Found): string {
  if (remedy === null) return says;
  return lead === undefined ? `${says} ${remedy}.` : `${says} ${lead}: ${remedy}`;
}
