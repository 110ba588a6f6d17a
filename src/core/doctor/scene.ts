import type { Environment } from '../config/environment.ts';
import type { HomePaths } from '../config/home.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Program } from '../program.ts';
import type { JournalReader } from '../journal/journal-reader.ts';
import type { Clock } from '../util/clock.ts';
import type { Finding, Found } from '../util/finding.ts';
import type { Random } from '../util/random.ts';
import type { Check } from './check.ts';

/** Commits that the database does not have yet, and since when (ms since 1970), or null if none are missing. */
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
  /** Paths of its unit, of the launcher that it starts, and of the variables that it gives to the assistant. */
  readonly places: { readonly unit: string; readonly launcher: string; readonly variables: string };
  /** The unit as an installation would write it now. */
  readonly text: () => string;
  /** What systemd or launchd says of it, asked once. Rejects with one sentence where it cannot be asked. */
  readonly state: () => Promise<{
    readonly installed: boolean;
    readonly running: boolean;
    readonly state: string;
    readonly enabled: boolean;
    /** Whether it keeps running after its user logs out, or null where logging out does not end it. */
    readonly linger: boolean | null;
  }>;
  /** The variables that it gives to the assistant, or null if this person may not read them. */
  readonly variables: Environment | null;
  /** A command of this service as this person can type it. */
  readonly command: (act: string) => string;
}

/** A process that has a home, as far as that can be seen without touching its lock. */
export interface Holder {
  /** Null if the system does not tell. */
  readonly pid: number | null;
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
  /** The machine: the root of its files, and who runs this program. */
  readonly host: { readonly root: string; readonly uid: number; readonly user: string };
  readonly version: string;
  /** The folder is that of a machine with many homes, and has none itself. */
  readonly isMachine: boolean;
  /** Null if the configuration cannot be read: `configTroubles` says why. */
  readonly loaded: LoadedConfig | null;
  /** What the assistant cannot run with. */
  readonly configTroubles: readonly Found[];
  readonly gateway: RunningGateway | null;
  /** What the running gateway says that the person should know; where none runs, what it would say of the configuration. */
  readonly known: readonly Finding[];
  /** The process that holds the home's lock, or null if none does. */
  readonly holder: Holder | null;
  /** Null if there is none or it cannot be read: `journalTrouble` says why. */
  readonly journal: JournalReader | null;
  readonly journalTrouble: string | null;
  /** Null if none is installed for this home. */
  readonly service: InstalledService | null;
  /** A command of this assistant as this person can type it, for this home. */
  readonly command: (words: string) => string;
}
