import type { Finding, Found } from '../util/finding.ts';
import type { Scene } from './scene.ts';

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
  /** Returns one finding per thing, such as one per channel; an empty list if there are none. */
  readonly run: (scene: Scene, signal: AbortSignal) => Promise<readonly Found[]> | readonly Found[];
}

/** A row: the id, what is looked at, how; then `LIVE`, and when it counts. */
type Row = readonly [id: string, about: string, run: Check['run'], more?: Pick<Check, 'live' | 'only'>];

export const LIVE = { live: true } as const;

/** Checks of one subject. */
export function checksOn(subject: Subject, rows: readonly Row[]): readonly Check[] {
  return rows.map(([id, about, run, more]) => ({ id, subject, about, run, ...more }));
}

/** The known findings with this id. */
export function knownOf(known: readonly Finding[], id: string): readonly Finding[] {
  return known.filter((finding) => finding.id === id);
}
