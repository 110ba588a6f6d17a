import * as z from 'zod';
import { channelHealth } from '../channels/channel.ts';

/** A further assistant of the process. */
const agentFacts = z.object({
  name: z.string(),
  /** `failed`: it should run and does not. `off`: it is switched off. `not-configured`: there is only its home. */
  state: z.enum(['starting', 'running', 'away', 'failed', 'off', 'not-configured']),
  /** One sentence about what is wrong, when something is. */
  detail: z.string().exactOptional(),
  /** What it answers: a channel, or one chat of it. */
  routes: z.array(z.string()).readonly(),
  home: z.string(),
});
export type AgentFacts = Readonly<z.output<typeof agentFacts>>;

/** Commits of the journal, and since when something waits; null: nothing does. */
const behind = z.object({ commits: z.number(), since: z.number().nullable() });

/** How PostgreSQL keeps the home of an assistant. Times are milliseconds since 1970. */
const storeFacts = z.object({
  /** How the database knows it. */
  home: z.string(),
  /** How often it was claimed. */
  epoch: z.number(),
  /** Until when it is certain that no other gateway runs it; it is renewed long before. */
  leaseUntil: z.number(),
  /** That has not passed. */
  isHeld: z.boolean(),
  /** What the database does not have yet. */
  behind,
  /** By this process. */
  written: z.object({ transactions: z.number(), statements: z.number(), bytes: z.number() }),
  /** Of this process; each is tried again. */
  failedRenewals: z.number(),
  /** Homes that this process runs. */
  homes: z.number(),
});
export type StoreFacts = Readonly<z.output<typeof storeFacts>>;

/** A home of many in the gateway of a machine. */
const homeOnGateway = z.object({
  name: z.string(),
  /** `failed`: it should run here and does not; `leaving`: it is being handed over; `waiting`: no gateway runs it yet. */
  state: z.enum(['starting', 'running', 'failed', 'leaving', 'waiting']),
  /** One sentence about what is wrong, when something is. */
  detail: z.string().exactOptional(),
  /** How many turns run. @default it does not run */
  turns: z.number().exactOptional(),
  /** What the database does not have yet of it. @default it does not run */
  behind: behind.exactOptional(),
  /** Its copy on this machine. */
  folder: z.string(),
});
export type HomeOnGateway = Readonly<z.output<typeof homeOnGateway>>;

/** See `util/finding.ts`. */
const finding = z.object({
  id: z.string(),
  state: z.enum(['ok', 'note', 'warning', 'failed', 'skipped']),
  says: z.string(),
  remedy: z.string().nullable(),
  lead: z.string().exactOptional(),
  facts: z.record(z.string(), z.string()).readonly().exactOptional(),
});

/** Which assistant runs, and how it is. */
export const assistantInfo = z.object({
  version: z.string(),
  /** Of the process that is the assistant. */
  pid: z.number(),
  home: z.string(),
  /** `provider/model` that answers. */
  model: z.string(),
  channels: z.record(
    z.string(),
    channelHealth.extend({
      /** @default the name is that of the kind */
      kind: z.string().exactOptional(),
    }),
  ),
  /** What the person should know now. */
  findings: z.array(finding).readonly(),
  /** The same, one sentence each with what to do. */
  warnings: z.array(z.string()).readonly(),
  /** What its start waits for, in sentences: until then it answers nothing. @default it has started */
  waiting: z.string().exactOptional(),
  /** How large each store is and what went last; null before the first sweep. */
  storage: z.string().nullable().exactOptional(),
  /** What becomes of voice messages, and where recordings go, in one line; null: they are not turned into text. */
  voice: z.string().nullable().exactOptional(),
  /** Who speaks answers, and where their text goes, in one line; null: they are not spoken. */
  speech: z.string().nullable().exactOptional(),
  /** How the memory is searched and where its texts go, in one line; null: by words alone, here. */
  search: z.string().nullable().exactOptional(),
  /** The further assistants of its process. @default there are none */
  agents: z.array(agentFacts).readonly().exactOptional(),
  /** How PostgreSQL keeps its home. @default the folder alone has it (setting `store`) */
  store: storeFacts.exactOptional(),
  /** The homes of a machine's gateway, which answers nothing itself. @default it is that of one home */
  homes: z.array(homeOnGateway).readonly().exactOptional(),
  /** How many turns run. @default it has not started, or is that of a machine */
  turns: z.number().exactOptional(),
  /** Milliseconds since 1970. */
  startedAt: z.number(),
  /** Where HTTP is served, e.g. `http://127.0.0.1:18790`; null when it is not. */
  http: z.string().nullable(),
});
export type AssistantInfo = Readonly<z.output<typeof assistantInfo>>;

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
