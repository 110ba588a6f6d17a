import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Step } from '../support/model-script.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';
import { transcriptsOf, type Line } from './transcript.ts';

/** Monday, nine o'clock in Vienna. */
const START = Date.UTC(2027, 2, 1, 8);
const PAGES = ['schedule', 'heartbeat', 'subagents', 'undo', 'receipts', 'why'] as const;

describe.each(PAGES)('docs/%s.md', (page) => {
  test('shows conversations that go as it says', async () => {
    const transcripts = transcriptsOf(await readFile(`docs/${page}.md`, 'utf8'));
    expect(transcripts.length).toBeGreaterThan(0);
    for (const lines of transcripts) await replay(lines);
  });
});

async function replay(lines: readonly Line[]): Promise<void> {
  const clock = new SkippingClock(START);
  await using world = await startWorld({ clock, config: { agent: { timezone: 'Europe/Vienna' } } });
  const { main, sub } = scriptsOf(lines);
  world.model.setHandler(({ view }) => {
    const isSubagents = view.tools.length > 1 && !view.tools.includes('spawn');
    return (isSubagents ? sub : main).shift() ?? 'The transcript says no more.';
  });
  await waitFor(async () => {
    world.telegram.userSays(OWNER, '/status');
    const before = chatOf(world).length;
    await waitFor(() => chatOf(world).length > before);
    return chatOf(world).at(-1)?.includes('Heartbeat:');
  });
  let heard = chatOf(world).length;
  for (const line of lines) {
    switch (line.type) {
      case 'file':
        await writeFile(join(world.workspace, 'HEARTBEAT.md'), line.text);
        break;
      case 'you':
        await settle();
        // An answer is seen while its turn still ends; what is told of it then is another story.
        if (line.text === '/why') await waitFor(() => isOver(world), { what: 'the end of the turn' });
        world.telegram.userSays(OWNER, line.text);
        break;
      case 'passes':
        await waitFor(() => world.model.inFlight === 0);
        await settle();
        clock.skip(line.minutes * 60_000 + 1_000);
        break;
      case 'hears':
        await waitFor(() => chatOf(world).length > heard, { what: line.text });
        if (line.text.startsWith('… ')) expect(chatOf(world)[heard]).toContain(line.text.slice(2));
        else expect(chatOf(world)[heard]).toBe(line.text);
        heard += 1;
        break;
      case 'tool':
        await waitFor(
          () => world.model.requests.some(({ view }) => view.toolResults.some(({ text }) => text.includes(line.text))),
          { what: line.text },
        );
        break;
      case 'model':
      case 'subagent': {
        const left = leftAfter(lines, line);
        await waitFor(() => (line.type === 'model' ? main : sub).length <= left, { what: JSON.stringify(line) });
        break;
      }
    }
  }
  await settle();
  expect(chatOf(world)).toHaveLength(heard);
  expect([...main, ...sub]).toEqual([]);
}

/** What the models say in order: also the words that are heard after a turn began and that no other line says. */
function scriptsOf(lines: readonly Line[]): { readonly main: Step[]; readonly sub: Step[] } {
  const sub = lines.flatMap((line) => (line.type === 'subagent' ? [line.step] : []));
  return { main: lines.flatMap((line, n) => mainStep(lines, line, n)), sub };
}

function mainStep(lines: readonly Line[], line: Line, n: number): readonly Step[] {
  if (line.type === 'model') return [line.step];
  if (line.type !== 'hears') return [];
  const before = lines.slice(0, n).findLast(({ type }) => type !== 'tool');
  const asks =
    (before?.type === 'you' && !before.text.startsWith('/')) ||
    before?.type === 'subagent' ||
    (before?.type === 'model' && typeof before.step !== 'string' && !JSON.stringify(before.step).includes('evaluate_'));
  return asks ? [line.text] : [];
}

/** How many of its steps are left when this one was played. */
function leftAfter(lines: readonly Line[], line: Line): number {
  const rest = lines.slice(lines.indexOf(line) + 1);
  if (line.type === 'subagent') return rest.filter(({ type }) => type === 'subagent').length;
  const whole = lines.length - rest.length;
  return rest.flatMap((one, n) => mainStep(lines, one, whole + n)).length;
}

async function isOver({ assistant }: Awaited<ReturnType<typeof startWorld>>): Promise<boolean> {
  return (await assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null;
}
