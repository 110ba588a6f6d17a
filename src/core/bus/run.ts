import * as z from 'zod';
import type { InboundMessage } from './messages.ts';

/** Key of a message's metadata under which the facts lie. */
const RUN = 'run';
/** A failed call is not repeated more often, whatever a program asks for. */
export const MOST_RETRIES = 20;

const facts = z.object({
  /** Names of the only tools that the turn, and subagents that it starts, may call; null: no limit. */
  tools: z.array(z.string()).nullable().default(null),
  /** Time limit of the turn; null: that of the configuration. */
  timeoutMs: z.number().positive().nullable().default(null),
  /** How often a failed model call is repeated; null: as always. */
  retries: z.number().int().min(0).max(MOST_RETRIES).nullable().default(null),
});

/** What a program wants of the one turn that answers its message. It is kept with the message, so it survives a restart. */
export type RunFacts = z.infer<typeof facts>;

const NOTHING: RunFacts = facts.parse({});

/** What the message asks of its turn; nothing where it asks for nothing that can be read. */
export function runFactsOf(message: Pick<InboundMessage, 'metadata'> | undefined): RunFacts {
  const given = message?.metadata[RUN];
  return given === undefined ? NOTHING : (facts.safeParse(given).data ?? NOTHING);
}

/** The metadata that say it; empty where nothing is asked for. */
export function runMetadata(asked: {
  readonly [Key in keyof RunFacts]?: Readonly<RunFacts[Key]> | undefined;
}): Readonly<Record<string, unknown>> {
  const entries = Object.entries(asked).filter(([, value]) => value !== undefined && value !== null);
  return entries.length === 0 ? {} : { [RUN]: Object.fromEntries(entries) };
}

/** Whether two messages ask the same of their turn. */
export function asksSameRun(a: Pick<InboundMessage, 'metadata'>, b: Pick<InboundMessage, 'metadata'>): boolean {
  return JSON.stringify(runFactsOf(a)) === JSON.stringify(runFactsOf(b));
}
