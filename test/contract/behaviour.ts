import type { Ability } from './bench.ts';
import type { Stage } from './stage.ts';

/** One thing that people may rely on, whatever platform they use. */
export interface Behaviour {
  /** Continues the name of its section. */
  readonly title: string;
  readonly needs: readonly Ability[];
  readonly run: (stage: Stage) => Promise<void>;
}

export function behaviour(title: string, needs: readonly Ability[], run: Behaviour['run']): Behaviour {
  return { title, needs, run };
}
