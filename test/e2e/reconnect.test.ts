import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';

const GONE = 'The running assistant is gone.';

interface Talk {
  readonly line: CommandLine;
  readonly ended: Promise<number>;
  /** Whether the assistant can be reached. */
  readonly gate: { open: boolean };
}

/** A conversation in a terminal with the gateway of a world, through its control socket. */
async function talkTo(world: World): Promise<Talk> {
  const line = new CommandLine({ terminal: true });
  const gate = { open: true };
  const { socket } = homePaths(world.home);
  line.connect = async () => (gate.open ? connectAssistant(socket, systemClock) : undefined);
  const ended = line.run('chat');
  await waitFor(() => line.out.includes('you › '));
  return { line, ended, gate };
}

const heard = (world: World, text: string): Promise<number> =>
  world
    .tape('terminal:main')
    .then((entries) => entries.filter((entry) => JSON.stringify(entry).includes(text) && 'role' in entry).length);

describe('a conversation that is attached to a gateway', () => {
  test('says at once when it is gone and when it is back, and goes on', async () => {
    await using world = await startWorld();
    const { line, ended } = await talkTo(world);
    await world.restart();
    await waitFor(() => line.out.includes(GONE), { what: 'the news' });
    await waitFor(() => line.out.includes('The assistant is back.'), { what: 'the next connection' });
    world.model.reply('Hello again.');
    line.type('hello\r');
    await waitFor(() => line.out.includes('Hello again.'), { what: 'the answer' });
    line.type('\u0004');
    expect(await ended).toBe(0);
  });

  test('keeps what is typed meanwhile, and sends it when the assistant is back', async () => {
    await using world = await startWorld();
    const { line, ended, gate } = await talkTo(world);
    gate.open = false;
    await world.restart();
    await waitFor(() => line.out.includes(GONE), { what: 'the news' });
    world.model.reply('I heard it.');
    line.type('kept\r');
    gate.open = true;
    await waitFor(() => line.out.includes('I heard it.'), { what: 'the answer' });
    expect(await heard(world, 'kept')).toBe(1);
    line.type('\u0004');
    expect(await ended).toBe(0);
  });

  test('has what was under way answered once, by the next process', async () => {
    await using world = await startWorld();
    const { line, ended } = await talkTo(world);
    world.model.reply({ text: 'too late', delayMs: 60_000 });
    line.type('under way\r');
    await waitFor(() => world.model.requests.length === 1, { what: 'the request' });
    world.model.reply('Done at last.');
    await world.restart();
    await waitFor(() => line.out.includes('Done at last.'), { what: 'the answer' });
    expect(await heard(world, 'under way')).toBe(1);
    line.type('\u0004');
    expect(await ended).toBe(0);
    expect(line.out.match(/Done at last\./gu)).toHaveLength(1);
  });
});
