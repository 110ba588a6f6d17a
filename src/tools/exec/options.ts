import type { Sandbox } from '../../security/sandbox/sandbox.ts';
import type { Clock } from '../../util/clock.ts';
import type { FileOrigins } from '../files/taint.ts';
import type { BackgroundProcesses } from './background/background-processes.ts';
import type { CommandLimits } from './limit-watch.ts';

export interface ExecOptions {
  /** `auto` asks only before commands outside the sandbox, so before every command if there is no sandbox. */
  readonly mode: 'off' | 'ask' | 'auto' | 'full';
  /** For commands that do not say; 600 at most. */
  readonly timeoutSeconds: number;
  /** What encloses commands; null: nothing does. */
  readonly sandbox: Sandbox | null;
  /** Whether enclosed commands reach the network without asking. */
  readonly network: boolean;
  /** Commands at once; others wait. */
  readonly maxConcurrent: number;
  /** Absolute; commands run in it or below it, and it is the HOME of enclosed ones. */
  readonly workspace: string;
  /** Folders that enclosed commands may read beside the workspace, as in `tools.readRoots`. @default none */
  readonly readRoots?: readonly string[];
  /** The whole environment of commands; HOME and PATH apply only outside the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** The assistant's home; commands that name it are asked about where nothing encloses them. @default not known */
  readonly home?: string;
  /** Hosts that commands may name though they are private, as in `tools.web.allowHosts`. @default none */
  readonly allowHosts?: readonly string[];
  /** Exact commands that run without a question, as in `tools.exec.allowCommands`. @default none */
  readonly allowCommands?: readonly string[];
  /** Whether a person allowed the command with this hash for good. @default none */
  readonly isRemembered?: (hash: string) => boolean;
  /** Which files strangers had a part in. @default nothing is known of that */
  readonly origins?: FileOrigins | undefined;
  /** What ends a command early. @default see `DEFAULT_COMMAND_LIMITS` */
  readonly limits?: Partial<CommandLimits>;
  /** Runs commands in the background. @default they are not offered */
  readonly background?: Pick<BackgroundProcesses, 'start' | 'seen' | 'kill'> | undefined;
  readonly clock: Clock;
}
