import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
let folder: string;
let file: string;

beforeAll(async () => {
  world = await startWorld();
  folder = join(world.home, 'traces');
  file = join(folder, 'garden.jsonl');
  await mkdir(folder);
  await writeFile(join(world.workspace, 'notes.txt'), 'The garden needs water.\n');
  world.model.reply(
    { text: 'I look.', calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] },
    'The garden needs water.',
  );
  await world.assistant.run('What does the garden need?');
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  const { text } = await world.assistant.call('turnsSave', { turn: newest?.turn ?? '' });
  await writeFile(file, text);
  // What is read now is not what was read then.
  await writeFile(join(world.workspace, 'notes.txt'), 'Something else.\n');
});
afterAll(() => world[Symbol.asyncDispose]());

async function run(...words: readonly string[]): Promise<{ readonly code: number; readonly out: string; err: string }> {
  const line = new CommandLine({ home: world.home });
  line.connect = (path) => connectAssistant(path, systemClock);
  const code = await line.run(...words);
  return { code, out: line.out, err: line.err };
}

test('a real model gets the recorded results, and both turns stand side by side', async () => {
  world.model.reply(
    { calls: [{ name: 'read_file', arguments: '{ "path": "notes.txt" }' }] },
    'It needs water, and soon.',
  );
  const { code, out } = await run('trace', 'replay', file, '--model-live');
  expect(JSON.stringify(world.model.requests.at(-1)?.view.toolResults)).toContain('The garden needs water.');
  expect(out).toMatch(/recorded +now\n/u);
  expect(out).toMatch(/model calls +2 +2\n/u);
  expect(out).toMatch(/tool calls +=.*read_file \{"path":"notes.txt"\} +=.*read_file/u);
  expect(out).toMatch(/length +23 characters +25 characters\n/u);
  expect(out).toMatch(/answer +The garden needs water\. +It needs water, and soon\.\n/u);
  expect(out).toContain('the same tool calls, answer of 25 characters (23).');
  expect(code).toBe(0);
});

test('a call that was not recorded is answered with an error and never done', async () => {
  world.model.reply(
    { calls: [{ name: 'write_file', arguments: { path: 'made.txt', content: 'no' } }] },
    'I could not.',
  );
  const { code, out } = await run('trace', 'replay', file, '--model', 'openai/other-model', '--json');
  expect(world.model.requests.at(-1)?.view).toMatchObject({ model: 'other-model' });
  expect(world.model.requests.at(-1)?.view.toolResults[0]?.text).toContain('This call was not recorded');
  expect(existsSync(join(world.workspace, 'made.txt'))).toBe(false);
  expect(JSON.parse(out)).toMatchObject({
    held: false,
    recorded: { model: 'openai/scripted-model', calls: [{ name: 'read_file', onBoth: false }] },
    now: { model: 'openai/other-model', calls: [{ name: 'write_file', onBoth: false }], answer: 'I could not.' },
  });
  expect(code).toBe(1);
});

test('a folder of traces is tested with another model', async () => {
  world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] }, 'Water.');
  const good = await run('trace', 'test', folder, '--model', 'openai/other-model');
  expect(good.out).toBe(
    '✓ garden.jsonl  the same tool calls, answer of 6 characters (23).\n1 trace, all as recorded.\n',
  );
  expect(good.code).toBe(0);
  world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'other.txt' } }] }, 'Nothing.');
  const bad = await run('trace', 'test', folder, '--model', 'openai/other-model');
  expect(bad.out).toContain('✗ garden.jsonl  tool calls: 1 not recorded, 1 not made, answer of 8 characters (23)');
  expect(bad.code).toBe(1);
});

test('a model that cannot be called is one sentence, before anything is asked', async () => {
  const before = world.model.requests.length;
  const { code, err } = await run('trace', 'replay', file, '--model', 'nowhere/model');
  expect(err).toContain('The model "nowhere/model" names a provider that is not known');
  expect(code).not.toBe(0);
  expect(world.model.requests).toHaveLength(before);
});

test('docs/replay.md shows what a run with a real model prints', async () => {
  const page = await readFile('docs/replay.md', 'utf8');
  const blocks = [...page.matchAll(/^```text\n(?<body>[\s\S]*?)^```$/gmu)].map(({ groups }) => groups?.['body'] ?? '');
  const [command = '', ...shown] = (blocks[1] ?? '').split('\n');
  world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] }, 'It needs water, and soon.');
  const words = command.replace('$ assistant ', '').replace('traces', folder).split(' ');
  expect((await run(...words)).out).toBe(shown.join('\n'));
});
