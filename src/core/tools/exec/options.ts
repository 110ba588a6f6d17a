import type { Sandbox } from '../../security/enclosure/sandbox.ts';
import type { Clock } from '../../util/clock.ts';
import type { FileOrigins } from '../files/taint.ts';
import type { BackgroundProcesses } from './background/background-processes.ts';
import type { CommandLimits } from './run.ts';

/** How the tool `exec` runs commands, and which of them it asks about. */
export interface ExecOptions {
  /** `auto` asks only before commands outside the sandbox, so before every command if there is no sandbox. */
  readonly mode: 'off' | 'ask' | 'auto' | 'full';
  /** Time limit of commands whose call gives none, seconds; 600 at most. */
  readonly timeoutSeconds: number;
  /** The sandbox that commands run in; null: they run without one. */
  readonly sandbox: Sandbox | null;
  /** Whether commands in the sandbox reach the network without a question. */
  readonly network: boolean;
  /** Most commands that run at the same time; others wait. */
  readonly maxConcurrent: number;
  /** Absolute path; commands run in it or below it, and in the sandbox it is HOME. */
  readonly workspace: string;
  /** Folders besides the workspace that commands in the sandbox may read, as in `tools.readRoots`. @default none */
  readonly readRoots?: readonly string[];
  /** The whole environment of commands; HOME and PATH apply only outside the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** The assistant's home; outside the sandbox a command that names it is asked about. @default not known */
  readonly home?: string;
  /** Private hosts that commands may name, as in `tools.web.allowHosts`. @default none */
  readonly allowHosts?: readonly string[];
  /** Exact commands that run without a question, as in `tools.exec.allowCommands`. @default none */
  readonly allowCommands?: readonly string[];
  /** Whether a person allowed the command with this hash for good. @default none */
  readonly isRemembered?: (hash: string) => boolean;
  /** Which files have content of strangers. @default unknown */
  readonly origins?: FileOrigins;
  /** Limits that end a command early. @default `DEFAULT_COMMAND_LIMITS` */
  readonly limits?: Partial<CommandLimits>;
  /** Runs commands in the background. @default none: the tool does not offer it */
  readonly background?: Pick<BackgroundProcesses, 'start' | 'seen' | 'kill'>;
  readonly clock: Clock;
}
