import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import type { Step } from '../support/model-script.ts';
import { startWorld, type DialectName, type World } from '../support/world.ts';

/** Seventeen for each of three dialects. */
const TURNS = 17;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const read = (path: string) => ({ name: 'read_file', arguments: { path } });

/** What the model does in a turn, in turns. */
const KINDS: readonly ((n: number) => readonly Step[])[] = [
  (n) => [`Answer ${n}.`],
  (n) => [{ text: 'I look.', calls: [read('long.txt')] }, `Read ${n}.`],
  (n) => [
    { calls: [read('notes.txt'), { name: 'list_dir', arguments: { path: '.' } }, read('long.txt')] },
    `All ${n}.`,
  ],
  (n) => [{ calls: [read('nowhere.txt')] }, { text: 'Once more.', calls: [read('b.txt')] }, `Found ${n}.`],
  (n) => [{ error: { status: 429, message: 'slow', headers: { 'retry-after': '0' } } }, `Late ${n}.`],
  (n) => [{ calls: [read('dot.png')] }, `Seen ${n}.`],
  (n) => [{ calls: [{ name: 'write_file', arguments: { path: `made-${n}.txt`, content: `${n}` } }] }, `Made ${n}.`],
  (n) => [
    {
      calls: [
        { name: 'no_such_tool', arguments: {} },
        { name: 'glob', arguments: '{"pattern"' },
      ],
    },
    `Oh ${n}.`,
  ],
  (n) => [{ calls: [read('long.txt')] }, `Long ${n}.`],
];

/** Two neighbouring calls of one answer. */
const CALLS =
  /(?<first>\{"type":"tool-call","callId":"[^"]+\.1",[^{}]*\{[^{}]*\}"\}),(?<second>\{"type":"tool-call",[^{}]*\{[^{}]*\}"\})/u;

interface Planted {
  readonly what: string;
  /** Of the trace that is changed. */
  readonly in: RegExp;
  readonly from: RegExp;
  readonly to: string;
}

/** Plants a change in a trace; the replay has to name a message of the conversation. */
async function expectFound(world: World, texts: readonly string[], planted: Planted): Promise<void> {
  const text = texts.find((one) => planted.in.test(one)) ?? '';
  const changed = text.replace(planted.from, planted.to);
  expect(changed === text, planted.what).toBe(false);
  const file = join(world.home, 'changed.jsonl');
  await writeFile(file, changed);
  const { code, out } = await run(world, 'trace', 'replay', file);
  expect(out, planted.what).toMatch(/differs from byte [\d,]+ on, in: message \d+ of the conversation/u);
  expect(code).toBe(1);
}

async function run(
  world: World,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly out: string }> {
  const line = new CommandLine({ home: world.home });
  line.connect = (path) => connectAssistant(path, systemClock);
  const code = await line.run(...words);
  return { code, out: line.out };
}

/** Saves the newest turns and returns the texts of their files. */
async function saveAll(world: World, folder: string): Promise<readonly string[]> {
  await mkdir(folder);
  const texts: string[] = [];
  for (const { turn } of await world.assistant.call('turnsList', { count: TURNS })) {
    const { text, missing } = await world.assistant.call('turnsSave', { turn });
    expect(missing).toEqual([]);
    await writeFile(join(folder, `${turn}.jsonl`), text);
    texts.push(text);
  }
  return texts;
}

test.each<DialectName>(['openai', 'openai-responses', 'anthropic'])(
  'turns with tools, parallel calls, images and failures are run again to the byte: %s',
  async (dialect) => {
    await using world = await startWorld({ dialect, config: { agent: { contextWindow: 21_000 } } });
    await writeFile(join(world.workspace, 'notes.txt'), 'The garden needs water.\n');
    await writeFile(join(world.workspace, 'b.txt'), 'Second file.\n');
    await writeFile(join(world.workspace, 'dot.png'), Buffer.from(PIXEL, 'base64'));
    await writeFile(join(world.workspace, 'long.txt'), 'A long line of many words.\n'.repeat(500));
    for (let n = 0; n < TURNS; n += 1) {
      world.model.reply(...(KINDS[n % KINDS.length]?.(n) ?? []));
      const { outcome } = await world.assistant.run(`question ${n}`, { session: 'main' });
      expect(outcome).toBe('answered');
    }
    const folder = join(world.home, 'traces');
    const texts = await saveAll(world, folder);
    const { code, out } = await run(world, 'trace', 'test', folder);
    expect(out).toContain(`${TURNS} traces, all as recorded.`);
    expect(code).toBe(0);
    const all = texts.join('');
    expect(all.match(/"kind":"request"/gu)?.length).toBeGreaterThan(TURNS);
    expect(all.includes('"kind":"image"')).toBe(true);
    // The window is small, so that old results are left out while turns run.
    expect(all.includes('"kind":"trim"')).toBe(true);
    await expectFound(world, texts, {
      what: 'two calls in another order',
      in: /All 2\./u,
      from: CALLS,
      to: '$<second>,$<first>',
    });
    expect(await readFile(join(world.workspace, 'made-6.txt'), 'utf8')).toBe('6');
  },
);
