import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { failureOf } from '../config/temporary-home.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function say(text: string, answer: string): Promise<void> {
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).some((shown) => shown.includes(answer)), { what: answer });
  await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null);
}

async function commandLine(...words: readonly string[]): Promise<string> {
  const line = new CommandLine({ home: world.home });
  line.connect = (path) => connectAssistant(path, systemClock);
  expect(await line.run(...words)).toBe(0);
  return line.out;
}

test('the trace of a turn has each attempt, model call and tool call in order, with tokens', async () => {
  world.model.reply(
    { error: { status: 429, message: 'slow down', headers: { 'retry-after': '0' } } },
    {
      text: 'I look.',
      calls: [{ name: 'list_dir', arguments: { path: '.' } }],
      usage: { input: 20, cached: 80, output: 7 },
    },
    { text: 'Nothing special.', usage: { input: 30, cached: 100, output: 3 } },
  );
  await say('What is in my workspace?', 'Nothing special.');
  const trace = await world.assistant.call('turnsTrace', {});
  expect(trace).toMatchObject({
    session: 'telegram:42',
    outcome: 'answered',
    origin: 'user',
    role: 'owner',
    model: 'openai/scripted-model',
    tokens: { input: 230, cached: 180, output: 10 },
    costUsd: null,
  });
  const model = 'openai/scripted-model';
  expect(trace.steps).toMatchObject([
    { kind: 'message', text: 'What is in my workspace?' },
    {
      kind: 'model',
      attempts: [
        { model, failed: expect.stringMatching(/^rate-limit: openai is rate-limiting us/u) },
        { model, bytes: expect.any(Number), failed: null },
      ],
      tokens: { input: 100, cached: 80, output: 7 },
      text: 'I look.',
      calls: [{ name: 'list_dir', arguments: '{"path":"."}' }],
    },
    { kind: 'tool', name: 'list_dir', isError: false, approved: false, output: expect.stringContaining('entries=1') },
    { kind: 'model', tokens: { input: 130, cached: 100, output: 3 }, stopReason: 'stop', text: 'Nothing special.' },
  ]);
  expect(trace.steps[1]?.tookMs).toBeGreaterThan(0);
  const ends = trace.steps.map(({ at }) => at);
  expect(ends).toEqual(ends.toSorted((a, b) => a - b));
  expect(ends.at(-1)).toBeLessThanOrEqual(trace.endedAt ?? 0);
  const again = await world.assistant.call('turnsTrace', { turn: trace.turn });
  expect(again).toEqual(trace);

  const shown = await commandLine('trace', 'show', trace.turn);
  expect(shown).toContain(`Turn ${trace.turn} in telegram:42\n`);
  expect(shown).toMatch(/\(user, owner\), answered after \d+\.\d s\.\n/u);
  expect(shown).toContain('openai/scripted-model: 230 tokens in (180 cached), 10 out, price unknown.\n');
  expect(shown).toMatch(/✗ openai\/scripted-model: rate-limit: openai is rate-limiting us/u);
  expect(shown).toMatch(/^model: openai\/scripted-model, request of \d.* kB, 100 tokens in \(80 cached\), 7 out/mu);
  expect(shown).toContain('    calls list_dir {"path":"."}\n');
  expect(shown).toMatch(/^✓ list_dir, \d+ characters/mu);
  expect(JSON.parse(await commandLine('trace', 'show', '--json'))).toEqual(trace);
});

test('a model call that failed for good, and a tool that failed, are in the trace of a turn that failed', async () => {
  world.model.reply(
    { calls: [{ name: 'read_file', arguments: { path: 'nowhere.md' } }] },
    { error: { status: 400, message: 'Jinja Exception: this cannot be' } },
  );
  await say('Read nowhere.md', 'this cannot be');
  const { outcome, steps } = await world.assistant.call('turnsTrace', {});
  expect(outcome).toBe('failed');
  expect(steps.slice(-2)).toMatchObject([
    { kind: 'tool', name: 'read_file', isError: true },
    { kind: 'model', attempts: [{ failed: expect.stringContaining('this cannot be') }], tokens: null, text: '' },
  ]);
  expect(await commandLine('trace', 'show')).toMatch(/^✗ read_file, /mu);
});

test('the newest turns are listed with their ids; a slash command is none', async () => {
  const before = await world.assistant.call('turnsList', { count: 9 });
  world.telegram.userSays(OWNER, '/status');
  await waitFor(() => chatOf(world).some((text) => text.includes('scripted-model')));
  expect(await world.assistant.call('turnsList', { count: 9 })).toEqual(before);
  expect(before.map(({ outcome }) => outcome)).toEqual(['failed', 'answered']);
  const older = await world.assistant.call('turnsList', { count: 9, before: before[0]?.turn ?? '' });
  expect(older).toEqual(before.slice(1));
  const rows = (await commandLine('trace')).trim().split('\n');
  expect(rows.map((row) => row.split(/ {2,}/u).slice(1))).toEqual(
    before.toReversed().map(({ turn, session, outcome }) => [turn, outcome, session]),
  );
});

test('a turn that there is not is one sentence, and a text of any length is cut', async () => {
  expect(await failureOf(world.assistant.call('turnsTrace', { turn: '01NOTHING' }))).toMatchObject({
    code: 'turn-unknown',
    message: 'No turn has the id "01NOTHING". To list the newest turns: npm run assistant -- trace',
  });
  world.model.reply('long '.repeat(2_000));
  world.telegram.userSays(OWNER, 'Talk');
  await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome === 'answered');
  const last = (await world.assistant.call('turnsTrace', {})).steps.at(-1);
  expect(last?.kind === 'model' ? last.text.length : 0).toBe(2_000);
});

test('the trace of a turn begins with what it did, and what became of each', async () => {
  const write = (path: string): object => ({ calls: [{ name: 'write_file', arguments: { path, content: 'x' } }] });
  const edit = { path: 'plan.md', oldText: 'x', newText: 'tea' };
  const both = { calls: [{ name: 'edit_file', arguments: edit }] };
  world.model.reply(write('plan.md'), both, write('/etc/plan.md'), 'All is written.');
  await say('Write the plan', 'All is written.');
  const { turn, did, changes, unfinished } = await world.assistant.call('turnsTrace', {});
  expect(did).toMatchObject([
    { tool: 'write_file', kind: 'file', target: 'plan.md', outcome: 'done', exitCode: null, step: 1 },
    { tool: 'edit_file', kind: 'file', target: 'plan.md', outcome: 'done', step: 2 },
    { tool: 'write_file', kind: 'file', target: '/etc/plan.md', outcome: 'refused', step: 3 },
  ]);
  expect(changes).toEqual([{ kind: 'file', name: 'plan.md', lines: '+ tea' }]);
  expect(unfinished).toBe('Not done: writing `/etc/plan.md` was refused.');
  expect(await commandLine('trace', 'show', turn)).toContain(
    `\nWhat it did:\n✓ file plan.md: done\n✓ file plan.md: done\n✗ file /etc/plan.md: refused\nBelow the answer: ${unfinished}\n`,
  );
});

test('of a file that somebody changed since the lines are shown as long as their text is kept, then not', async () => {
  const write = (content: string): object => ({
    calls: [{ name: 'write_file', arguments: { path: 'list.md', content } }],
  });
  world.model.reply(write('one'), 'First.', write('two'), 'Second.');
  await say('Make a list', 'First.');
  const first = await world.assistant.call('turnsTrace', {});
  await say('Change it', 'Second.');
  const second = await world.assistant.call('turnsTrace', {});
  const linesOf = async (turn: string): Promise<unknown> =>
    (await world.assistant.call('turnsTrace', { turn })).changes[0]?.lines;
  expect([await linesOf(first.turn), await linesOf(second.turn)]).toEqual(['+ one', '− one\n+ two']);
  await writeFile(join(world.workspace, 'list.md'), 'mine');
  expect([await linesOf(first.turn), await linesOf(second.turn)]).toEqual(['+ one', null]);
});
