import type { Hooks, HookSet } from '../agent/hooks/hooks.ts';
import type { Extension } from '../extension.ts';
import type { Environment } from '../config/environment.ts';
import type { Effect } from '../config/schema/values.ts';
import type { AssistantPort } from '../gateway/assistant-port.ts';
import type { Plugin, PluginProvider } from '../plugins/plugin.ts';
import type { TapeStore } from '../session/stored-tapes.ts';
import type { Tool } from '../tools/tool.ts';
import type { Clock } from '../util/clock.ts';
import type { AppError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Runs } from './run.ts';

/** What a program that runs the assistant brings itself. */
export interface Given {
  /** Its own tools, beside those of the assistant. */
  readonly tools?: readonly Tool[];
  /** Kinds of providers; their models are `<kind>/<model>`, e.g. in `agent.model`. */
  readonly providers?: readonly PluginProvider[];
  /** Its hooks, or several sets of them with names. */
  readonly hooks?: Hooks | readonly HookSet[];
  /** Plugins that are no packages; they run without a line in `plugins` of the configuration. */
  readonly plugins?: readonly Plugin[];
}

/** How an assistant is started in this process. */
export interface AssistantSettings extends Given {
  /** Those of the program that it is made of. @default all of this package */
  readonly extensions?: readonly Extension[];
  /** The home folder. @default `ASSISTANT_HOME`, else `~/.assistant` */
  readonly home?: string;
  /** Settings over those of the home's config.json, in its shape. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** What is connected: `gateway` all channels and HTTP, `local` nothing but the control socket. @default 'local' */
  readonly serve?: 'gateway' | 'local';
  /** HTTP port instead of `gateway.port`; 0: any free port. */
  readonly port?: number;
  /** Keeps the tapes of all sessions too, in place of the one that a plugin brings. @default the home alone has them */
  readonly tapeStore?: TapeStore;
  /** @default stderr, as the configuration says */
  readonly log?: Logger;
  /**
   * Logs to the file of the home (`HomePaths.log`) only, for a terminal that a person talks in. Otherwise a gateway logs
   * to stderr and to that file, and everything else to stderr. @default false
   */
  readonly logsToFile?: boolean;
  /** Ends this assistant and starts another, for /restart; without it the command says that it cannot. */
  readonly onRestart?: () => void;
  /** Called when the disk did not confirm a write: nothing is written any more, so this process has to end. @default `onRestart` */
  readonly onUnusable?: (error: AppError) => void;
  /** Used instead of the environment of the process. */
  readonly environment?: Environment;
  /** @default the machine's */
  readonly clock?: Clock;
  /** Id of this boot of the machine, which tells a power loss from a process that died. @default the kernel's boot id */
  readonly boot?: string | null;
  /**
   * A start that reaches no one: MCP servers, schedule, heartbeat and plugins are off, as in safe mode; with `wrapTool` the
   * agreed tools of MCP servers are there, and no server is started before one of them runs. @default false
   */
  readonly rehearsal?: boolean;
  /** Each tool as it is registered, for a trial. @default as it is */
  readonly wrapTool?: (tool: Tool) => Tool;
  /** Told, in sentences for a person, that another gateway runs the home, for which this one waits. The start then goes on by itself. */
  readonly onWaiting?: (sentence: string) => void;
  /** Ends a start that waits for a full or read-only disk, or for its home; its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** A running assistant. */
export interface Assistant extends AssistantPort, Runs, AsyncDisposable {
  /**
   * Stops it, as disposing does; no turn begins any more, and those that still run after `turnsMs` continue at the next start. Takes
   * at most 7 s longer than that. May be called more than once. `turnsMs`: @default 3 s
   */
  close(options?: { readonly turnsMs?: number }): Promise<void>;
  /** Call it before disposing when an uncaught error ends this process: the start then counts as a crash for safe mode. */
  markCrashed(): void;
  /** Resolves when its journal has made a commit durable; rejects when it cannot. For a watchdog: silence is a fault. */
  alive(): Promise<void>;
  /** Reads the configuration again and applies what changed; an invalid one is refused as a whole. Never rejects. */
  reload(): Promise<ReloadReport>;
  /** Its log, free of secrets. */
  readonly log: Logger;
}

/** The result of reading the configuration again. */
export interface ReloadReport {
  /** What is different now, and when it takes effect. */
  readonly changes: readonly { readonly path: string; readonly effect: Effect }[];
  /** Why the configuration was not applied; null: it was, or nothing changed. */
  readonly refused: string | null;
  /** The database of the setting `store` may not have the file yet, one sentence; left out: it has. */
  readonly behind?: string;
}
