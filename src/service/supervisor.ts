import type { Kind, Places } from './places.ts';

/** How a service is. */
export interface ServiceState {
  readonly installed: boolean;
  readonly running: boolean;
  /** As the system calls it, e.g. `active (running)`. */
  readonly state: string;
  /** Since when, as the system writes it; null: it never ran, or that is not known. */
  readonly since: string | null;
  /** Whether it starts with the machine, or with the person's first login. */
  readonly enabled: boolean;
  /** Whether it continues after the person logged out; null: that has no meaning here. */
  readonly linger: boolean | null;
  readonly pid: number | null;
  /** What the assistant last said of itself, or why it does not start. */
  readonly says: string | null;
  readonly home: string;
  readonly unit: string;
  readonly kind: Kind;
}

/** What runs services on this machine. Each method throws one sentence with the next step when it cannot. */
export interface Supervisor {
  readonly places: Places;
  /** Throws when the service cannot be installed by this person on this machine; changes nothing. */
  prepare(): Promise<void>;
  /** The unit's text. */
  text(): string;
  /** Makes the unit known, lets it start by itself and starts it. Returns what the person should know. */
  enable(): Promise<readonly string[]>;
  /** Stops it and makes the unit unknown; its file is removed by `removed`. */
  disable(): Promise<void>;
  /** After the file of the unit is gone. */
  removed(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  restart(): Promise<void>;
  state(): Promise<ServiceState>;
  /** The program that shows the log, and its arguments. */
  logs(follow: boolean): { readonly program: string; readonly args: readonly string[] };
}
