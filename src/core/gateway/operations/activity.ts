import * as z from 'zod';
import type { App } from '../../app.ts';
import { auditEntry } from '../../storage/audit-log.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { listOf, operation } from './operation.ts';

/** One thing that it did without being asked. */
const ownStep = z.object({
  /** Milliseconds since 1970. */
  at: z.number(),
  what: z.string(),
  /** In a word or two: told, silent, nothing to do, failed, missed, … */
  outcome: z.string(),
  reason: z.string().nullable(),
});
export type OwnStep = Readonly<z.output<typeof ownStep>>;

/** Why something happened, or did not. Times are milliseconds since 1970. */
const story = z.object({
  /** What it is about, in a few words. */
  subject: z.string(),
  /** The cause, in plain words. */
  cause: z.string(),
  /** Id of the turn; null: there was none. */
  turn: z.string().nullable(),
  session: z.string(),
  at: z.number(),
  /** Oldest first. */
  steps: listOf(z.object({ at: z.number(), what: z.string() })),
  /** Tokens and US dollars of the turn, in words; null: no model was asked. */
  cost: z.string().nullable(),
});

const whyAnswer = z.object({
  /** Of messages and turns, newest first. */
  stories: listOf(story),
  /** What it did by itself, newest first. */
  own: listOf(ownStep),
});
type WhyAnswer = z.input<typeof whyAnswer>;

export const why = operation({
  name: 'why',
  about:
    'Tells why a message was answered as it was, or not, and lists what the assistant did by itself and why people were or were not told; `why-unknown` if nothing has that id.',
  changes: null,
  input: z.object({
    count: z.int().min(1).max(1_000).describe('How many entries at most.'),
    about: z
      .string()
      .min(1)
      .max(200)
      .exactOptional()
      .describe('Id of a message, turn, job or conversation, or `heartbeat`; without it, what it did by itself.'),
    since: z
      .int()
      .min(0)
      .exactOptional()
      .describe('Milliseconds since 1970: the messages and what it did by itself since then.'),
  }),
  output: whyAnswer,
  run: async (app, { count, about, since }) => {
    if (about === undefined) {
      const own = (await ownSteps(app, count)).filter(({ at }) => at >= (since ?? 0));
      return { stories: since === undefined ? [] : await app.why.since(since, count), own };
    }
    // What a part of the program does by itself may have the name of its own conversation; packages hide nothing.
    const parts = Map.groupBy(whyParts(app), ([name]) => app.plugins.builtin.some((one) => one.name === name));
    const own = await told(parts.get(true), { about, count }, app);
    if (own !== undefined) return own;
    const found = await app.why.find(about);
    if (found !== undefined) return { stories: [found], own: [] };
    const others = await told(parts.get(false), { about, count }, app);
    if (others !== undefined) return others;
    throw new AppError(
      'why-unknown',
      `Nothing is known of ${JSON.stringify(about)}. Give the id of a message, a turn, a job or a conversation such as telegram:123, or heartbeat. To list the newest: ${assistantCommand('why --since 1d')}`,
    );
  },
});

const whyParts = ({ plugins }: App) => plugins.each('why');

/** What these extensions know of it. One that fails knows nothing. */
async function told(
  parts: ReturnType<typeof whyParts> = [],
  { about, count }: { readonly about: string; readonly count: number },
  app: App,
): Promise<WhyAnswer | undefined> {
  for (const [name, part] of parts) {
    try {
      const found = await part.find(about, count);
      if (found === undefined) continue;
      const turnCause = found.turn === null ? null : ((await app.why.find(found.turn))?.cause ?? null);
      return { stories: [found.story(turnCause)], own: found.steps };
    } catch (error) {
      app.log.error('why: an extension failed', { name, reason: errorMessage(error) });
    }
  }
  return undefined;
}

/** What the assistant did by itself, newest first, and why people heard of it or did not. */
async function ownSteps({ plugins }: App, count: number): Promise<readonly OwnStep[]> {
  const steps = await Promise.all(plugins.each('why').map(([, part]) => part.newest(count)));
  return steps
    .flat()
    .toSorted((a, b) => b.at - a.at)
    .slice(0, count);
}

export const audit = operation({
  name: 'audit',
  about: 'Lists what was allowed, approved and refused, newest first.',
  changes: null,
  showsRuns: true,
  input: z.object({
    count: z.int().min(1).max(10_000).describe('How many entries at most.'),
    asked: z.boolean().describe('Only what was not simply allowed.'),
    about: z
      .string()
      .max(400)
      .describe('Only entries with this text in the action, the session, the person or the turn; empty: all.'),
  }),
  output: listOf(auditEntry),
  run: (app, { count, asked, about }) => {
    const part = about.toLowerCase();
    return app.audit.newest(
      count,
      ({ decision, what, session, who, turn }) =>
        !(asked && decision === 'allowed') &&
        [what, session, who, turn].some((text) => text?.toLowerCase().includes(part) === true),
    );
  },
});
