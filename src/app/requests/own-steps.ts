import type { App } from '../../core/app.ts';
import type { OwnStep, WhyAnswer } from '../../core/gateway/operations/activity.ts';
import type { RequestParams } from '../../core/gateway/operations/operations.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';

/** Why one thing happened, or everything since a time; without both, what the assistant did by itself. */
export async function whyAnswer({ count, about, since }: RequestParams<'why'>, app: App): Promise<WhyAnswer> {
  const { why } = app;
  if (about === undefined) {
    const own = (await ownSteps(app, count)).filter(({ at }) => at >= (since ?? 0));
    return { stories: since === undefined ? [] : await why.since(since, count), own };
  }
  // What a part of the program does by itself may have the name of its own conversation; packages hide nothing.
  const parts = Map.groupBy(whyParts(app), ([name]) => app.plugins.builtin.some((one) => one.name === name));
  const own = await told(parts.get(true), { about, count }, app);
  if (own !== undefined) return own;
  const story = await why.find(about);
  if (story !== undefined) return { stories: [story], own: [] };
  const others = await told(parts.get(false), { about, count }, app);
  if (others !== undefined) return others;
  throw new AppError(
    'why-unknown',
    `Nothing is known of ${JSON.stringify(about)}. Give the id of a message, a turn, a job or a conversation such as telegram:123, or heartbeat. To list the newest: ${assistantCommand('why --since 1d')}`,
  );
}

const whyParts = ({ plugins }: App) => plugins.each('why');

/** What these extensions know of it. One that fails knows nothing. */
async function told(
  parts: ReturnType<typeof whyParts> = [],
  { about, count }: { readonly about: string; readonly count: number },
  { why, log }: App,
): Promise<WhyAnswer | undefined> {
  for (const [name, part] of parts) {
    try {
      const found = await part.find(about, count);
      if (found === undefined) continue;
      const turnCause = found.turn === null ? null : ((await why.find(found.turn))?.cause ?? null);
      return { stories: [found.story(turnCause)], own: found.steps };
    } catch (error) {
      log.error('why: an extension failed', { name, reason: errorMessage(error) });
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
