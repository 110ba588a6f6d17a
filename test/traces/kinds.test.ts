import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { say } from '../e2e/memory-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

interface Replayed {
  readonly missing: readonly string[];
  readonly out: string;
}

/** Saves the newest turn, replays it, and returns what both said. */
async function saveAndReplay(world: World): Promise<Replayed> {
  await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null);
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  return await replay(world, newest?.turn ?? '');
}

async function replay(world: World, turn: string): Promise<Replayed> {
  const { text, missing } = await world.assistant.call('turnsSave', { turn });
  return { missing, out: await replayText(world, text) };
}

async function replayText(world: World, text: string): Promise<string> {
  const folder = join(world.home, 'traces');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'turn.jsonl'), text);
  const line = new CommandLine({ home: world.home });
  line.connect = (path) => connectAssistant(path, systemClock);
  await line.run('trace', 'replay', join(folder, 'turn.jsonl'));
  return line.out;
}

test('a turn that failed over to another model is replayed, each attempt for its own model', async () => {
  await using world = await startWorld({ config: { agent: { fallbacks: ['openai/second-model'] } } });
  world.model.reply({ error: { status: 401, message: 'wrong key' } }, 'From the second.');
  await say(world, 'who answers?');
  const { missing, out } = await saveAndReplay(world);
  expect(missing).toEqual([]);
  expect(out).toMatch(/model call 1, attempt 1: .*the same\n.*model call 1, attempt 2: .*the same/u);
  expect(out).toContain('2 requests, the same to the byte.');
});

test('a turn that waited for a subagent is replayed with what that one brought', async () => {
  await using world = await startWorld();
  const spawn = { name: 'spawn', arguments: { task: 'count to three', label: 'counting', wait: true } };
  world.model.reply({ calls: [spawn] }, 'One, two, three.', 'Counted.');
  await say(world, 'count');
  await waitFor(async () =>
    (await world.assistant.call('turnsList', { count: 5 })).every((one) => one.outcome !== null),
  );
  const turns = await world.assistant.call('turnsList', { count: 5 });
  expect(turns).toHaveLength(2);
  for (const { turn } of turns)
    expect((await replay(world, turn)).out).toMatch(/\d requests?, the same to the byte\./u);
});

test('a turn of a job that chose silence is replayed, also from a trace whose results do not say that they silence it', async () => {
  await using world = await startWorld();
  const job = { id: 'news', kind: 'agent', when: 'every 5h', text: 'look', chat: `telegram:${OWNER}` } as const;
  await world.assistant.call('cron', { action: 'add', job });
  world.model.reply({ calls: [{ name: 'cron', arguments: { action: 'silent', text: 'no news' } }] });
  await world.assistant.call('cron', { action: 'run', id: 'news' });
  const ended = async (): Promise<string | undefined> => {
    const [newest] = await world.assistant.call('turnsList', { count: 1 });
    return newest?.outcome === null ? undefined : newest?.turn;
  };
  const { text } = await world.assistant.call('turnsSave', { turn: await waitFor(ended) });
  const older = text.replace(',"silences":true', '');
  expect(older.length).toBeLessThan(text.length);
  const out = await replayText(world, text);
  expect(out).toContain('1 request, the same to the byte.');
  expect(await replayText(world, older)).toBe(out);
});

test('a turn with Ollama cannot be replayed, and saving it says why', async () => {
  await using world = await startWorld({ dialect: 'ollama' });
  world.model.reply('Yes.');
  await say(world, 'are you there?');
  expect((await saveAndReplay(world)).missing).toEqual([
    'Model call 1, attempt 1: Its request depends on what the server says of the model, so it is not replayed.',
  ]);
});

describe('a turn that waited for a person', () => {
  const touch = { calls: [{ name: 'exec', arguments: { command: 'touch made.txt' } }] };

  /** Begins a turn that asks before a command; returns the code of its question. */
  async function asked(world: World): Promise<string> {
    const before = chatOf(world).length;
    world.telegram.userSays(OWNER, 'make the file');
    const question = (): string | undefined =>
      chatOf(world)
        .slice(before)
        .find((text) => text.includes('/approve '));
    const text = await waitFor(question, { what: 'a question' });
    return /\/approve (?<code>\w+)/u.exec(text)?.groups?.['code'] ?? '';
  }

  test('is replayed after a yes, a no, a message that joined it, and a stop; nobody is asked again', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'ask', sandbox: 'off' } } } });
    for (const [answer, done] of [
      ['approve', 'It is made.'],
      ['deny', 'Then not.'],
    ] as const) {
      world.model.reply(touch, done);
      world.telegram.userSays(OWNER, `/${answer} ${await asked(world)}`);
      await waitFor(() => chatOf(world).some((text) => text.includes(done)), { what: done });
      expect(await saveAndReplay(world), answer).toEqual({
        missing: [],
        out: expect.stringContaining('2 requests, the same'),
      });
    }
    world.model.reply(touch, 'Both are done.');
    const code = await asked(world);
    world.telegram.userSays(OWNER, 'and water the garden');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await waitFor(() => chatOf(world).some((text) => text.includes('Both are done.')), { what: 'the joined answer' });
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('and water the garden');
    expect(await saveAndReplay(world), 'joined').toEqual({
      missing: [],
      out: expect.stringContaining('2 requests, the same'),
    });
    world.model.reply(touch);
    await asked(world);
    world.telegram.userSays(OWNER, '/stop');
    expect(await saveAndReplay(world), 'stopped').toEqual({
      missing: [],
      out: expect.stringContaining('1 request, the same'),
    });
  });
});
