import type { ChannelHealth } from '../channels/channel.ts';

/** A further assistant of the process. */
export interface AgentFacts {
  readonly name: string;
  /** `failed`: it should run and does not. `off`: it is switched off. `not-configured`: there is only its home. */
  readonly state: 'starting' | 'running' | 'away' | 'failed' | 'off' | 'not-configured';
  /** One sentence about what is wrong, when something is. */
  readonly detail?: string;
  /** What it answers: a channel, or one chat of it. */
  readonly routes: readonly string[];
  readonly home: string;
}

/** How PostgreSQL keeps the home of an assistant. Times are milliseconds since 1970. */
export interface StoreFacts {
  /** How the database knows it. */
  readonly home: string;
  /** How often it was claimed. */
  readonly epoch: number;
  /** Until when it is certain that no other gateway runs it; it is renewed long before. */
  readonly leaseUntil: number;
  /** That has not passed. */
  readonly isHeld: boolean;
  /** What the database does not have yet: commits of the journal, and since when something waits; null: nothing does. */
  readonly behind: { readonly commits: number; readonly since: number | null };
  /** By this process. */
  readonly written: { readonly transactions: number; readonly statements: number; readonly bytes: number };
  /** Of this process; each is tried again. */
  readonly failedRenewals: number;
  /** Homes that this process runs. */
  readonly homes: number;
}

/** A home of many in the gateway of a machine. */
export interface HomeOnGateway {
  readonly name: string;
  /** `failed`: it should run here and does not; `leaving`: it is being handed over; `waiting`: no gateway runs it yet. */
  readonly state: 'starting' | 'running' | 'failed' | 'leaving' | 'waiting';
  /** One sentence about what is wrong, when something is. */
  readonly detail?: string;
  /** How many turns run. @default it does not run */
  readonly turns?: number;
  /** What the database does not have yet of it. @default it does not run */
  readonly behind?: StoreFacts['behind'];
  /** Its copy on this machine. */
  readonly folder: string;
}

/** Which assistant runs, and how it is. */
export interface AssistantInfo {
  readonly version: string;
  /** Of the process that is the assistant. */
  readonly pid: number;
  readonly home: string;
  /** `provider/model` that answers. */
  readonly model: string;
  readonly channels: Readonly<Record<string, ChannelHealth>>;
  /** One sentence each. */
  readonly warnings: readonly string[];
  /** What its start waits for, in sentences: until then it answers nothing. @default it has started */
  readonly waiting?: string;
  /** How large each store is and what went last; null before the first sweep. */
  readonly storage?: string | null;
  /** What becomes of voice messages, and where recordings go, in one line; null: they are not turned into text. */
  readonly voice?: string | null;
  /** Who speaks answers, and where their text goes, in one line; null: they are not spoken. */
  readonly speech?: string | null;
  /** How the memory is searched and where its texts go, in one line; null: by words alone, here. */
  readonly search?: string | null;
  /** The further assistants of its process. @default there are none */
  readonly agents?: readonly AgentFacts[];
  /** How PostgreSQL keeps its home. @default the folder alone has it (setting `store`) */
  readonly store?: StoreFacts;
  /** The homes of a machine's gateway, which answers nothing itself. @default it is that of one home */
  readonly homes?: readonly HomeOnGateway[];
  /** How many turns run. @default it has not started, or is that of a machine */
  readonly turns?: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Where HTTP is served, e.g. `http://127.0.0.1:18790`; null when it is not. */
  readonly http: string | null;
}

/** Names in a sentence. */
const MOST_NAMES = 20;

/** Says that a home has to be named, with those that run there. `machine`: the folder of the gateway. */
export function nameHome(machine: string, homes: readonly Pick<HomeOnGateway, 'name' | 'state'>[]): string {
  return `${machine} is the folder of a machine with many homes. Name one of them: --agent NAME. ${homesHere(homes)}`;
}

/** Names those that run there. */
export function homesHere(homes: readonly Pick<HomeOnGateway, 'name' | 'state'>[]): string {
  const names = homes.filter(({ state }) => state !== 'waiting').map(({ name }) => name);
  if (names.length === 0) return 'None runs here now.';
  const left = names.length - MOST_NAMES;
  return `Here run: ${names.slice(0, MOST_NAMES).join(', ')}${left > 0 ? `, … and ${left} more` : ''}.`;
}
