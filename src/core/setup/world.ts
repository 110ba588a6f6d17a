import type { Environment } from '../config/environment.ts';
import type { PluginChannel } from '../plugins/plugin.ts';
import type { HomePaths } from '../config/home.ts';
import type { Program } from '../program.ts';
import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { Asker } from './asker.ts';

/** What the command line gave; undefined is not given. */
export interface Given {
  readonly provider: string | undefined;
  /** The provider's own name of it, or `provider/model`. */
  readonly model: string | undefined;
  /** The environment variable that holds the key. */
  readonly keyEnv: string | undefined;
  /** The address of a server that speaks OpenAI's API. */
  readonly baseUrl: string | undefined;
  readonly timezone: string | undefined;
  /** The model is saved without having answered. */
  readonly noCheck: boolean;
  /** What options of kinds of channels were given, by their names. */
  readonly ofChannels: Readonly<Record<string, string | undefined>>;
}

/** The world as the set-up sees it. */
export interface SetupWorld {
  /** Kinds of channels of extensions. */
  readonly kinds: readonly PluginChannel[];
  readonly program: Program;
  readonly paths: HomePaths;
  readonly env: Environment;
  readonly clock: Clock;
  /** Null: no one is asked, and what was not given is what is usual. */
  readonly person: Asker | null;
  /** Where progress is told; the person's terminal, or plain lines. */
  readonly tell: Pick<Asker, 'say' | 'good' | 'bad'>;
  /**
   * Lets an assistant with these settings answer once, in a home of its own: with the whole prompt and all tools. `trouble`:
   * why it could not, in a sentence. Never rejects.
   */
  readonly tryWhole: (
    config: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ) => Promise<{ readonly seconds: number; readonly trouble: string | null }>;
  /** Aborted by Ctrl-C between two questions. */
  readonly signal: AbortSignal;
}

/** Something that only a person, or another flag, can put right. Nothing was written. */
export function setupError(message: string): AppError {
  return new AppError('setup', `${message} Nothing was written.`);
}
