import * as z from 'zod';
import { answers } from './operation.ts';

/** Whether everything works, and what waits. Times are milliseconds since 1970. */
export interface HealthFacts {
  readonly startedAt: number;
  readonly channels: readonly {
    readonly name: string;
    readonly state: string;
    readonly detail: string | null;
    /** Messages that wait to be sent. */
    readonly queued: number;
  }[];
  readonly queues: {
    readonly runningTurns: number;
    /** Messages that wait for a turn. */
    readonly inbound: number;
    /** Messages that wait to be sent. */
    readonly outbound: number;
    /** Messages that could not be delivered, without those that a person dropped. */
    readonly deadLetters: number;
  };
  readonly sandbox: {
    /** `off`: no command runs; `missing`: each command asks, or none does in mode `full`. */
    readonly state: 'available' | 'missing' | 'off';
    readonly detail: string;
  };
  readonly versions: Readonly<Record<string, string>>;
  readonly disk: {
    /** Of the disk that holds the home; null where the system does not tell. */
    readonly freeBytes: number | null;
    readonly totalBytes: number | null;
    /** `ok`, or why it takes no writes. */
    readonly state: string;
    readonly reason: string | null;
  };
  /** How large each store is and what went last; null before the first sweep. */
  readonly storage: string | null;
  /** By the newest turn that each of them answered since the start. */
  readonly providers: readonly {
    readonly name: string;
    readonly state: 'ok' | 'failed' | 'unknown';
    readonly detail: string | null;
    readonly at: number | null;
  }[];
  /** One sentence each. */
  readonly warnings: readonly string[];
}

export interface ModelsInfo {
  /** `provider/model`, those that may be chosen: of the configuration, and those that were used in the last 90 days. */
  readonly models: readonly string[];
  /** The one that answers in the session. */
  readonly current: string;
  /** The one that was chosen for the session; null: the standard one. */
  readonly chosen: string | null;
}

export const health = {
  health: answers<HealthFacts>()({
    description:
      'Returns whether channels, disk, sandbox and model providers work, and how many messages wait or could not be delivered.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  modelsList: answers<ModelsInfo>()({
    description: 'Lists the models that may be chosen, and which one answers in a session.',
    role: 'owner',
    changes: false,
    params: z.object({
      session: z.string().max(400).exactOptional().describe('Key of the session; without it, a new one.'),
    }),
  }),
};
