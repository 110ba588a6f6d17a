import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { say } from '../e2e/memory-world.ts';
import { NAMED_SAMPLES, TOKEN_SAMPLES } from '../security/redact-samples.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import type { Step } from '../support/model-script.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
let folder: string;
let saved = '';

const READ = { name: 'read_file', arguments: { path: 'notes.txt' } };

beforeAll(async () => {
  world = await startWorld();
  folder = join(world.home, 'traces');
  await mkdir(folder);
  await writeFile(join(world.workspace, 'notes.txt'), 'The garden needs water.\n');
  for (const n of [1, 2]) {
    world.model.reply({ text: 'I look.', calls: [READ], usage: null }, { text: `Answer ${n}.`, usage: null });
    await say(world, `question ${n}`);
  }
  saved = await save('first.jsonl');
});
afterAll(() => world[Symbol.asyncDispose]());

async function run(...words: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const line = new CommandLine({ home: world.home });
  line.connect = (path) => connectAssistant(path, systemClock);
  const code = await line.run(...words);
  return { code, out: line.out };
}

/** Saves the newest turn and returns the text of its file. */
async function save(name: string): Promise<string> {
  await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null);
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  const file = join(folder, name);
  expect((await run('trace', 'save', newest?.turn ?? '', '--out', file)).code).toBe(0);
  return await readFile(file, 'utf8');
}

test('a saved turn is replayed to the byte, with the history before it and its tool results', async () => {
  const file = join(folder, 'first.jsonl');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  for (const part of ['question 1', 'question 2', 'The garden needs water.']) expect(saved).toContain(part);
  const { code, out } = await run('trace', 'replay', file);
  expect(out).toContain('2 requests, the same to the byte.');
  expect(code).toBe(0);
});

const CHANGES: readonly (readonly [what: string, layer: RegExp, from: string | RegExp, to: string])[] = [
  [
    'a layer of the prompt',
    /layer 1 of the system prompt \(.*Assistant\)/u,
    /("kind":"part","hash":"[^"]+","text":")(?!\[)/u,
    '$1Else. ',
  ],
  ['the text of a tool', /in: tools/u, /(\\"description\\":\\")/u, '$1Other '],
  ['the name of a tool', /in: tools/u, '\\"name\\":\\"read_file\\"', '\\"name\\":\\"read_text\\"'],
  ['an earlier message', /message \d of the conversation/u, 'question 1', 'question one'],
  ['the message', /message \d of the conversation/u, 'question 2', 'question two'],
  ['an earlier answer', /message \d of the conversation/u, '"text":"Answer 1."', '"text":"Answer A."'],
  ['the arguments of a call', /message \d of the conversation/u, /"arguments":"\{\\"path/u, '"arguments":"{\\"file'],
  ['the name of a called tool', /message \d of the conversation/u, '"name":"read_file"', '"name":"glob"'],
  ['the length of the answer', /setting max\w*tokens/iu, /"maxOutputTokens":\d+/gu, '"maxOutputTokens":7'],
  ['the most model calls of a turn', /message 6 of the conversation/u, '"toolChoice":"auto"', '"toolChoice":"none"'],
  ['the result of a tool', /message \d of the conversation/u, 'The garden needs water.', 'The garden is dry.'],
  ['a field that the provider adds', /setting top_p/u, '"extraBody":{}', '"extraBody":{"top_p":0.5}'],
];

describe('a replay names the layer of what changed', () => {
  test.each(CHANGES)('%s', async (what, layer, from, to) => {
    // The recorded requests stay as they are.
    const changed = saved
      .split('\n')
      .map((line) => (line.includes('"kind":"request"') ? line : line.replace(from, to)))
      .join('\n');
    expect(changed, what).not.toBe(saved);
    const file = join(folder, 'changed.json');
    await writeFile(file, changed);
    const { code, out } = await run('trace', 'replay', file);
    expect(out).toMatch(/differs from byte [\d,]+ on/u);
    expect(out).toMatch(layer);
    expect(code).toBe(1);
  });
});

test('a folder of traces is tested as one, and says which is not as recorded', async () => {
  const suite = join(folder, 'suite');
  await mkdir(suite);
  const empty = await run('trace', 'test', suite);
  expect(empty).toEqual({ code: 1, out: expect.stringContaining('holds no trace') });
  await writeFile(join(suite, 'good.jsonl'), saved);
  expect(await run('trace', 'test', suite)).toEqual({
    code: 0,
    out: expect.stringContaining('1 trace, all as recorded.'),
  });
  await writeFile(join(suite, 'other.jsonl'), 'no trace\n');
  const { code, out } = await run('trace', 'test', suite);
  expect(code).toBe(1);
  expect(out).toMatch(/✓ good\.jsonl .*\n✗ other\.jsonl +Line 1 is not of a trace/u);
});

test('docs/replay.md shows what the commands print', async () => {
  const page = await readFile('docs/replay.md', 'utf8');
  const block = /^```text\n(?<body>[\s\S]*?)^```$/mu.exec(page)?.groups?.['body'] ?? '';
  const garden = join(folder, 'garden');
  await mkdir(garden);
  await writeFile(join(garden, 'garden.jsonl'), saved);
  const commands = block.split(/^\$ assistant /mu).slice(1);
  expect(commands).toHaveLength(2);
  for (const shown of commands) {
    const [line = '', ...printed] = shown.split('\n');
    const { out } = await run(...line.replace('traces', garden).split(' '));
    // Sizes change with the prompt.
    const withoutSizes = (text: string): string => text.replace(/[\d,]+ bytes/gu, 'N bytes');
    expect(withoutSizes(out)).toBe(withoutSizes(printed.join('\n')));
  }
});

const SAMPLES = [...TOKEN_SAMPLES, ...NAMED_SAMPLES];
const SECRET_TEXT = SAMPLES.map(([, secret, [before, after] = ['', '']]) => before + secret + after).join('\n');
const WRITE = { name: 'write_file', arguments: { path: 'made.md', content: SECRET_TEXT } };

test.each<readonly [place: string, said: string, steps: readonly Step[], calls: number]>([
  [
    'what a person says and a file holds',
    SECRET_TEXT.slice(0, SECRET_TEXT.lastIndexOf('\n', 3_900)),
    [{ calls: [READ] }, 'Read.'],
    2,
  ],
  ['what a model says', 'say it', [SECRET_TEXT], 1],
  ['the arguments of a call', 'write it', [{ calls: [WRITE] }, 'Written.'], 2],
  ['the path of a call and its failure', 'read it', [{ calls: [failing()] }, 'No.'], 2],
  ['the history, and the files of the system prompt', 'and now?', ['Yes.'], 1],
])('no secret in %s is in a trace, and it is replayed all the same', async (_, said, steps, calls) => {
  const secrets = [MODEL_KEY, world.telegram.token, ...SAMPLES.map(([, secret]) => secret)];
  await writeFile(join(world.workspace, 'notes.txt'), `${SECRET_TEXT}\n`);
  await writeFile(join(world.workspace, 'AGENTS.md'), `# Keys\n\n${SECRET_TEXT}\n`);
  world.model.reply(...steps);
  await say(world, `look at this:\n${said}`);
  const trace = await save('secrets.jsonl');
  expect(secrets.filter((secret) => trace.includes(secret))).toEqual([]);
  const counted = `${calls} ${calls === 1 ? 'request' : 'requests'}, the same to the byte.`;
  expect((await run('trace', 'replay', join(folder, 'secrets.jsonl'))).out).toContain(counted);
});

/** A call that fails with its path in the words of the failure. */
function failing(): { readonly name: string; readonly arguments: { readonly path: string } } {
  return {
    name: 'read_file',
    arguments: {
      path: `keys/${SAMPLES.map(([, secret]) => secret.slice(0, 60))
        .join('-')
        .slice(0, 200)}.txt`,
    },
  };
}

test('a secret that became known after the turn is in no trace either', async () => {
  const late = 'garden-gate-4417-blue';
  world.model.reply({ text: 'Noted.', usage: null });
  await say(world, `the word is ${late}`);
  const file = join(world.home, 'config.json');
  const settings = JSON.parse(await readFile(file, 'utf8')) as { readonly providers: object };
  const providers = { ...settings.providers, groq: { apiKey: late } };
  await writeFile(file, JSON.stringify({ ...settings, providers }));
  await world.assistant.call('configReload', {});
  await save('late.jsonl');
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  // Without the control socket, which takes secrets out of all that it sends.
  const trace = await world.assistant.call('turnsSave', { turn: newest?.turn ?? '' });
  expect(trace.text).toContain('the word is [redacted]');
  expect(trace.text).not.toContain(late);
  expect((await run('trace', 'replay', join(folder, 'late.jsonl'))).out).toContain('1 request, the same to the byte.');
});

test('what is not kept any more is named in the trace and by the command', async () => {
  world.model.reply({ text: 'Yes.', usage: null });
  await say(world, 'and now?');
  await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null);
  const [newest] = await world.assistant.call('turnsList', { count: 1 });
  for (const name of await readdir(join(world.home, 'prompts'))) await rm(join(world.home, 'prompts', name));
  const { code, out } = await run('trace', 'save', newest?.turn ?? '', '--out', join(folder, 'gone.jsonl'));
  expect(code).toBe(0);
  expect(out).toContain(
    'Missing: Model call 1, attempt 1: This request cannot be rebuilt: a layer of its system prompt',
  );
});
