import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { localMinute } from '../../src/core/util/time-zone.ts';
import { runCommand, type CommandRun } from '../support/command-run.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const HERE = `telegram:${OWNER}`;
/** Another hour than almost anywhere else. */
const ZONE = 'Pacific/Kiritimati';
let world: World;

const assistant = (...words: readonly string[]): Promise<CommandRun> => runCommand(words, world.home);
const facts = async (...words: readonly string[]): Promise<unknown> => {
  const { code, out } = await assistant(...words, '--json');
  expect(code).toBe(0);
  return JSON.parse(out);
};
const answered = (text: string): Promise<unknown> =>
  waitFor(() => chatOf(world).some((line) => line.includes(text)), { what: text });

beforeAll(async () => {
  world = await startWorld({
    config: {
      models: { 'openai/scripted-model': { contextWindow: 100_000, price: { input: 1_000, output: 2_000 } } },
    },
  });
  world.model.reply(
    { calls: [{ name: 'list_dir', arguments: { path: '.' } }] },
    'There is **a lighthouse** in it.',
    'Forget that I said bicycle.',
    'A new beginning.',
  );
  world.telegram.userSays(OWNER, 'What is in my workspace?');
  await answered('a lighthouse');
  world.telegram.userSays(OWNER, 'Say bicycle');
  await answered('I said bicycle');
  world.telegram.userSays(OWNER, '/undo');
  await waitFor(() => chatOf(world).length > 2, { what: 'the answer to /undo' });
  world.telegram.userSays(OWNER, '/new');
  await answered('I started a new conversation');
  world.telegram.userSays(OWNER, 'And now?');
  await answered('A new beginning.');
});
afterAll(() => world[Symbol.asyncDispose]());

describe('sessions, beside a running gateway', () => {
  test('lists conversations with their last change and size', async () => {
    expect(await facts('sessions')).toEqual([
      { session: HERE, changedAt: expect.any(Number), size: expect.any(Number) },
    ]);
    expect((await assistant('sessions')).out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d {2}telegram:42 +\d+\.\d kB\n$/u);
  });

  test('tells times in the time zone of the assistant, as the other commands do', async () => {
    expect((await assistant('config', 'set', 'agent.timezone', ZONE)).code).toBe(0);
    const [{ changedAt }] = (await facts('sessions')) as [{ changedAt: number }];
    const minute = localMinute(changedAt, ZONE);
    expect((await assistant('sessions')).out).toContain(`${minute}  ${HERE}`);
    const hour = minute.slice(0, 13);
    expect((await assistant('sessions', 'show', HERE)).out).toContain(hour);
    expect((await assistant('sessions', 'export', HERE)).out).toContain(`## ${hour}`);
    expect((await assistant('sessions', 'search', 'lighthouse')).out).toContain(hour);
    expect((await assistant('trace')).out).toContain(hour);
    expect((await assistant('trace', 'show')).out).toContain(`Began ${hour}`);
  });

  test('shows what was said and done, what was taken back, and where it was started anew', async () => {
    const { out } = await assistant('sessions', 'show', HERE);
    const order = [
      'you\n  What is in my workspace?',
      '    list_dir {"path":"."}',
      '    ✓ list_dir: ',
      'assistant\n  There is **a lighthouse** in it.',
      'you (taken back)\n  Say bicycle',
      'assistant (taken back)\n  Forget that I said bicycle.',
      'A fresh start: what came before is no longer part of the conversation.',
      'you\n  And now?',
      'assistant\n  A new beginning.',
    ].map((part) => out.indexOf(part));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(out).not.toContain('<context>');
  });

  test('shows only the last exchanges that were asked for', async () => {
    const { out } = await assistant('sessions', 'show', HERE, '--last', '1');
    expect(out).toContain('And now?');
    expect(out).not.toContain('lighthouse');
  });

  test('exports Markdown whose fences nothing can close, and JSON', async () => {
    const { out } = await assistant('sessions', 'export', HERE);
    expect(out).toMatch(/^# telegram:42\n\n## \d{4}-\d\d-\d\d \d\d:\d\d you\n\nWhat is in my workspace\?\n/u);
    expect(out).toContain('> Called `list_dir`:\n>\n> ```\n> {"path":"."}\n> ```');
    const whole = JSON.parse((await assistant('sessions', 'export', HERE, '--format', 'json')).out);
    expect(whole).toMatchObject({ session: HERE, events: expect.any(Array) });
    expect(whole.events.map(({ kind }: { kind: string }) => kind)).toEqual([
      'user',
      'call',
      'result',
      'assistant',
      'user',
      'assistant',
      'mark',
      'user',
      'assistant',
    ]);
  });

  test('finds words in all conversations, and in one', async () => {
    expect(await facts('sessions', 'search', 'lighthouse')).toMatchObject([
      { source: 'session', session: HERE, role: 'assistant', snippet: 'There is **a lighthouse** in it.' },
    ]);
    expect(await facts('sessions', 'search', 'lighthouse', '--session', 'telegram:1')).toEqual([]);
    expect((await assistant('sessions', 'search', 'zeppelin')).out).toBe('Nothing was found.\n');
  });

  test('names an unknown session and the way to the list', async () => {
    for (const words of [['show'], ['export'], ['delete', '--yes']]) {
      const { code, err } = await assistant('sessions', ...words, 'telegram:7');
      expect(code).toBe(1);
      expect(err).toMatch(/^No session is called "telegram:7"\. To list them: .*sessions\n$/u);
    }
  });
});

describe('usage', () => {
  test.each([
    ['model', 'openai/scripted-model'],
    ['source', 'user'],
    ['session', HERE],
    ['day', new Date().getFullYear().toString()],
  ])('adds up tokens and cost by %s', async (by, name) => {
    const { rows } = (await facts('usage', '--by', by)) as { rows: readonly Record<string, unknown>[] };
    const { requests, asides } = world.model;
    expect(rows.reduce((calls, row) => calls + Number(row['calls']), 0)).toBe(requests.length + asides.length);
    expect(rows[0]).toMatchObject({ name: expect.stringContaining(name), unpriced: 0 });
    expect(rows[0]?.['costUsd']).toBeGreaterThan(0);
  });

  test('prints a table, and says when there is nothing', async () => {
    const { out } = await assistant('usage', '--by', 'model', '--days', '1');
    expect(out).toMatch(/^ +calls +tokens in +cached +tokens out +cost\nopenai\/scripted-model +\d+ .*\$\d/u);
    expect((await assistant('usage', '--by', 'job')).out).toBe('No model was called in this time.\n');
    expect((await assistant('usage', '--by', 'moon')).code).toBe(2);
  });
});

test('a conversation is deleted only if somebody agrees, and is then gone from the disk and from the search', async () => {
  const tape = join(world.home, 'sessions', tapeName(HERE));
  expect(await assistant('sessions', 'delete', HERE)).toMatchObject({ code: 1 });
  expect(existsSync(tape)).toBe(true);
  expect((await assistant('sessions', 'delete', HERE, '--yes')).out).toMatch(/^telegram:42 is deleted\./u);
  expect(existsSync(tape)).toBe(false);
  expect(await facts('sessions', 'search', 'lighthouse')).toEqual([]);
  // The conversation begins anew with the next message.
  world.model.reply('Hello again.');
  world.telegram.userSays(OWNER, 'Hello?');
  await answered('Hello again.');
  expect(JSON.stringify(world.model.requests.at(-1))).not.toContain('lighthouse');
});

test('a conversation with a running turn is not deleted', async () => {
  const held = Promise.withResolvers<string>();
  world.model.setHandler(() => held.promise);
  world.telegram.userSays(OWNER, 'Think about it');
  await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
  expect(await assistant('sessions', 'delete', HERE, '--yes')).toEqual({
    code: 1,
    out: '',
    err: `${HERE} has a turn that runs or waits. Stop it with /stop in that conversation, then delete it.\n`,
  });
  held.resolve('I thought.');
  await answered('I thought.');
});

describe('why, without an id', () => {
  test('names the newest messages, since people ask about a message that got no answer', async () => {
    const { out } = await assistant('why', '--last', '2');
    expect(out).toMatch(/telegram:42 {2}“[^”]+”\n {4}It was answered\./u);
  });
});

test('a conversation of the terminal goes by the name that chat --session takes', async () => {
  world.model.reply('Packed.');
  expect((await assistant('chat', '--session', 'packing', '-m', 'Is it packed?')).code).toBe(0);
  for (const name of ['packing', 'terminal:packing']) {
    expect((await assistant('sessions', 'show', name)).out).toContain('Packed.');
    expect((await assistant('sessions', 'export', name)).out).toMatch(/^# terminal:packing\n/u);
  }
  expect((await assistant('prompt', '--session', 'packing')).out).toMatch(/^terminal:packing with/mu);
  expect((await assistant('sessions', 'search', 'packed', '--session', 'packing')).out).toContain('Packed.');
  expect((await assistant('sessions', 'delete', 'packing', '--yes')).out).toContain('terminal:packing is deleted.');
});
