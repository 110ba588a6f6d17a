import { basename, isAbsolute } from 'node:path';
import type { OneAtATime } from '../agent/recovery/one-at-a-time.ts';
import type { Environment } from '../config/environment.ts';
import type { HomePaths } from '../config/home.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { pathText } from '../config/setting.ts';
import type { SettingsStore } from '../config/settings-store.ts';
import type { Program } from '../program.ts';
import type { ChannelHost, Further } from './hosting.ts';
import type { PluggedModels, Plugins } from '../plugins/plugins.ts';
import { exactWords } from '../security/commands/plain.ts';
import { runsOthers } from '../security/commands/wrappers.ts';
import type { Redact } from '../security/redact/redact.ts';
import type { StoreFacts } from '../gateway/assistant-info.ts';
import type { StoredTapes } from '../session/stored-tapes.ts';
import type { StorageHealth } from '../storage/storage-health.ts';
import { storeAddressFinding } from '../storage/store-address.ts';
import type { Clock } from '../util/clock.ts';
import { type Finding, warning } from '../util/finding.ts';
import type { Ids } from '../util/ids.ts';
import type { Logger } from '../util/log.ts';
import type { Random } from '../util/random.ts';

/** What every part of the composition root needs. */
export interface Base {
  readonly program: Program;
  readonly paths: HomePaths;
  /** As it was at the start. */
  readonly loaded: LoadedConfig;
  /** Shows what is in force now: what is to be live reads it when it needs it and keeps no part. */
  readonly config: Config;
  readonly settings: SettingsStore;
  readonly env: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly storage: StorageHealth;
  readonly newId: Ids;
  readonly log: Logger;
  /** Takes secrets out of a text. */
  readonly redact: Redact;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** How long it has been running, ms; the clock may have been put meanwhile. */
  readonly uptimeMs: () => number;
  /** Names the run of the machine; null where nothing tells. */
  readonly boot: string | null;
  /** Channels and, for the main assistant, HTTP are connected. */
  readonly serving: boolean;
  /** HTTP is served: not by further assistants, and by one of many homes only where its configuration names a port. */
  readonly servesHttp: boolean;
  /** Gives this assistant its channels; null: it is the main one, which connects its own. */
  readonly host: ChannelHost | null;
  /** The further assistants of this process. */
  readonly further: Further;
  /** Where turns that may have ended the process get their last attempt, with those of the other assistants in it; null: it is the only one. */
  readonly suspects: OneAtATime | null;
  readonly plugins: Plugins;
  /** What plugins bring for models; filled when they are loaded. */
  readonly plugged: PluggedModels;
  /** What keeps the tapes beside the home, once it is opened; null: nothing does. */
  readonly stored: {
    tapes: StoredTapes | null;
    /** How PostgreSQL keeps the home. @default the folder alone has it */
    facts?: () => StoreFacts;
  };
  /** Only what is needed to talk runs, see safe-mode.ts. */
  readonly safe: boolean;
  /** Reads the configuration as a start would; rejects with one sentence when it cannot run like that. */
  readonly rehearse: () => Promise<LoadedConfig>;
  /** What the person should know at each look. */
  readonly findings: readonly Finding[];
}

/** What is there before the journal says how the program is to run. */
export type Ground = Omit<Base, 'plugins' | 'safe' | 'settings' | 'findings'>;

/** What is wrong with the configuration, and how this process runs with less protection than it could. */
export function configFindings({ config, findings }: LoadedConfig, userId: number | undefined): readonly Finding[] {
  const open = config.store === null ? null : storeAddressFinding(config.store);
  const { mode, allowCommands } = config.tools.exec;
  return [
    ...findings,
    ...(open === null ? [] : [open]),
    ...(mode === 'full'
      ? [
          {
            id: 'sandbox.mode',
            ...warning('tools.exec.mode is "full": commands run without a sandbox and without a question.'),
          },
        ]
      : []),
    ...allowCommands
      .filter((command) => !isExact(command))
      .map((command) => ({
        id: 'sandbox.mode',
        ...warning(
          `tools.exec.allowCommands: ${JSON.stringify(command)} is not an exact command with an absolute path, or it is a shell, wrapper or interpreter, so it still asks.`,
        ),
        facts: { command },
      })),
    ...(userId === 0
      ? [{ id: 'program.root', ...warning('The assistant runs as root.', 'Give it a user of its own') }]
      : []),
  ];
}

/** Says which changed settings wait for a restart; nothing where none does. */
export function waitingFindings({ waiting }: SettingsStore): readonly Finding[] {
  if (waiting.length === 0) return [];
  const says = `Changed, and in force after a restart (/restart): ${waiting.map(pathText).join(', ')}.`;
  return [{ id: 'config.waiting', ...warning(says) }];
}

/** What `tools.exec.allowCommands` can mean. */
function isExact(command: string): boolean {
  const [program = ''] = exactWords(command.trim()) ?? [];
  return isAbsolute(program) && !runsOthers(basename(program));
}
