import type { Scene } from './scene.ts';

/**
 * How something is. `note`: worth knowing, nothing has to be done. `warning`: it works, but not as it could, or not for long.
 * `failed`: it does not work. `skipped`: it was not looked at.
 */
export type State = 'ok' | 'note' | 'warning' | 'failed' | 'skipped';

/** What checks are grouped by, in the order in which they are shown. */
export const SUBJECTS = [
  'program',
  'configuration',
  'home',
  'database',
  'models',
  'channels',
  'safety',
  'gateway',
  'messages',
  'schedule',
  'extensions',
  'service',
] as const;

export type Subject = (typeof SUBJECTS)[number];

/** What a check found of one thing. */
export interface Finding {
  readonly state: State;
  /** One sentence. */
  readonly evidence: string;
  /** The command that mends it, or else what to do, without a full stop; null: nothing has to be done. */
  readonly remedy: string | null;
  /** Mends it, and returns what was done, as a sentence. Only what can never lose anything has one. */
  readonly repair?: () => Promise<string>;
}

/** One thing that is looked at. */
export interface Check {
  /** Stable, such as `config.valid`. */
  readonly id: string;
  readonly subject: Subject;
  /** What is looked at, for docs/doctor.md; without a full stop. */
  readonly about: string;
  /** It reaches a server or starts a program, so that it has a deadline and is left out with `--offline`. @default false */
  readonly live?: true;
  /** Whether there is what it looks at; where not, it is not even told that it was skipped. @default always */
  readonly only?: (scene: Scene) => boolean;
  /** One finding for each thing of this kind, such as each channel; none where there is no such thing. */
  readonly run: (scene: Scene, signal: AbortSignal) => Promise<readonly Finding[]> | readonly Finding[];
}

export function ok(evidence: string): Finding {
  return { state: 'ok', evidence, remedy: null };
}

export function note(evidence: string, remedy: string | null = null): Finding {
  return { state: 'note', evidence, remedy };
}

export function warning(evidence: string, remedy: string | null): Finding {
  return { state: 'warning', evidence, remedy };
}

export function failed(evidence: string, remedy: string | null): Finding {
  return { state: 'failed', evidence, remedy };
}

export function skipped(evidence: string): Finding {
  return { state: 'skipped', evidence, remedy: null };
}

/** A finding from a sentence of another part of the program, which may end with the command that helps: `… Run: chmod …`. */
export function fromSentence(state: 'note' | 'warning' | 'failed', sentence: string, remedy: string | null): Finding {
  const parts = /^(?<evidence>[\s\S]*?)[.:;]? (?:To \w[^.:]*|Run|then run|Then run): (?<command>[^\n]+?)\.?$/u.exec(
    sentence,
  )?.groups;
  const { evidence, command } = parts ?? {};
  if (evidence === undefined || command === undefined) return { state, evidence: sentence, remedy };
  return { state, evidence: `${evidence}.`, remedy: command };
}
