import type { Environment } from '../core/config/environment.ts';
import type { HomePaths } from '../core/config/home.ts';
import type { LoadedConfig } from '../core/config/load.ts';
import type { Program } from '../core/program.ts';
import type { JournalReader } from '../core/journal/journal-reader.ts';
import type { Opened } from '../service/open-service.ts';
import type { ServiceState } from '../service/supervisor.ts';
import type { Host } from '../service/host.ts';
import type { Clock } from '../core/util/clock.ts';
import type { Finding, Found } from '../core/util/finding.ts';
import type { Random } from '../core/util/random.ts';
import type { Check } from './check.ts';
import type { Holder } from './holder.ts';

/** What the database does not have yet: commits, and since when (ms since 1970); null: nothing waits. */
export interface Behind {
  readonly commits: number;
  readonly since: number | null;
}

/** What a gateway that runs says of itself. */
export interface RunningGateway {
  readonly version: string;
  readonly pid: number;
  readonly model: string;
  readonly channels: Readonly<
    Record<string, { readonly state: string; readonly detail?: string; readonly code?: string }>
  >;
  /** What it says that the person should know. */
  readonly findings: readonly Finding[];
  readonly http: string | null;
  /** How PostgreSQL keeps its home; absent: the folder alone has it. */
  readonly store?: { readonly behind: Behind };
  /** Of a machine; absent: it is that of one home. */
  readonly homes?: readonly {
    readonly name: string;
    readonly state: string;
    readonly detail?: string;
    readonly behind?: Behind;
  }[];
  /** Tokens that the next request of the main conversation has. */
  readonly requestTokens: () => Promise<number>;
}

/** The service that belongs to this home. */
export interface InstalledService {
  readonly opened: Opened;
  /** What systemd or launchd says of it, asked once. Rejects with one sentence where it cannot be asked. */
  readonly state: () => Promise<ServiceState>;
  /** The variables that it gives to the assistant; null: this person may not read them. */
  readonly variables: Environment | null;
  /** A command of this service as this person can type it. */
  readonly command: (act: string) => string;
}

/** What all checks look at. Read once; nothing in it changes the home. */
export interface Scene {
  /** All that is looked at. */
  readonly checks: readonly Check[];
  readonly program: Program;
  readonly paths: HomePaths;
  /** Of this process, and over it what the installed service gives to the assistant. */
  readonly env: Environment;
  /** Of this process alone. */
  readonly ownEnv: Environment;
  readonly clock: Clock;
  readonly random: Random;
  readonly host: Host;
  readonly version: string;
  /** The folder is that of a machine with many homes, and has none itself. */
  readonly isMachine: boolean;
  /** Null: it cannot be read, see `configTroubles`. */
  readonly loaded: LoadedConfig | null;
  /** What the assistant cannot run with. */
  readonly configTroubles: readonly Found[];
  readonly gateway: RunningGateway | null;
  /** What the running gateway says that the person should know; where none runs, what it would say of the configuration. */
  readonly known: readonly Finding[];
  /** Who has the home; null: no one. */
  readonly holder: Holder | null;
  /** Null: there is none, or it cannot be read, see `journalTrouble`. */
  readonly journal: JournalReader | null;
  readonly journalTrouble: string | null;
  /** Null: none is installed for this home. */
  readonly service: InstalledService | null;
  /** A command of this assistant as this person can type it, for this home. */
  readonly command: (words: string) => string;
}
