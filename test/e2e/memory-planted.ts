import { expect } from 'vitest';
import type { StepHandler } from '../support/model-script.ts';
import { recordingLog, type LogLine } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type DialectName, type World } from '../support/world.ts';
import { note, say, SESSION } from './memory-world.ts';

/** Something that must not be lost, and a word that stands in it alone. */
interface Fact {
  readonly text: string;
  readonly word: string;
}

const SHAPES: readonly ((word: string, n: number) => string)[] = [
  (word) => `the neighbour’s dog is called ${word}`,
  (word, n) => `${word} was born on ${(n % 28) + 1} March ${1950 + n}`,
  (word, n) => `the spare key for ${word} lies under stone ${n}`,
  (word, n) => `お気に入りの店は「${word}」、電話は 03-5555-${1000 + n} です`,
  (word, n) => `Zoë paid ${n},50 € to ${word} — *twice*, says the bill`,
  (word, n) => `the gate at ${word} opens with <b>${n}&${n + 7}</b>`,
  (word, n) => `C:\\files\\${word}_${n}.txt holds "the list"`,
];

/** `count` facts, each with a made-up word of its own. */
function facts(count: number): readonly Fact[] {
  const [first, second, last] = [
    ['Bra', 'Kel', 'Mor', 'Tiv', 'Sul', 'Daph', 'Wen'],
    ['ando', 'erit', 'ulco', 'ifra', 'omba', 'ysta', 'elgo', 'arnu'],
    ['x', 'sk', 'zen'],
  ] as const;
  return Array.from({ length: count }, (_, n) => {
    const word = `${first[n % 7]}${second[n % 8]}${last[Math.floor(n / 56)]}`;
    return { word, text: SHAPES[n % SHAPES.length]?.(word, n) ?? '' };
  });
}

const IDLE_TALK = 'We also spoke of the garden, the long winter, the neighbours and what there was for dinner. ';

interface Talk {
  readonly turns: number;
  readonly planted: readonly Fact[];
  /** How often the idle talk of a person is repeated in each turn. */
  readonly length: number;
}

/** A conversation in which facts are planted evenly, two by the person and then one by the assistant. */
async function talk(world: World, { turns, planted, length }: Talk): Promise<void> {
  let answer = '';
  world.model.setHandler(() => ({ text: answer, usage: null, chunkSize: 200 }));
  let next = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    const isDue = next < Math.ceil(((turn + 1) * planted.length) / turns);
    const remember = isDue ? `\nRemember: ${planted[next]?.text ?? ''}\n` : '';
    const isOwn = next % 3 !== 2;
    if (isDue) next += 1;
    answer = `Answer ${turn}.${isOwn ? '' : remember} ${IDLE_TALK}`;
    await say(world, `Turn ${turn}.${isOwn ? remember : ''} ${IDLE_TALK.repeat(length)}`);
  }
}

/** Those that are neither in MEMORY.md nor in HISTORY.md. */
async function missing(world: World, planted: readonly Fact[]): Promise<readonly string[]> {
  const kept = `${await note(world, 'MEMORY.md')}\n${await note(world, 'HISTORY.md')}`;
  return planted.filter(({ text }) => !kept.includes(text)).map(({ text }) => text);
}

const AT_ONCE = 8;

/** Has the model search for each fact, and looks at what it then reads. */
async function recallAll(world: World, planted: readonly Fact[]): Promise<void> {
  world.model.setAside(() => 'They looked things up.');
  for (let from = 0; from < planted.length; from += AT_ONCE) {
    const some = planted.slice(from, from + AT_ONCE);
    world.model.reply(
      { calls: some.map(({ word }) => ({ name: 'memory_search', arguments: { query: word, limit: 5 } })) },
      'That is what I found.',
    );
    await say(world, 'What do you know?');
    const results = world.model.requests.at(-1)?.view.toolResults.map(({ text }) => text) ?? [];
    expect(results).toHaveLength(some.length);
    for (const [n, { word }] of some.entries()) {
      expect(results[n]).toMatch(
        new RegExp(`^- (?:MEMORY\\.md|(?:\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d )?HISTORY\\.md): .*${word}`, 'mu'),
      );
    }
  }
}

/** Restarts until what is open was tried often enough to be written down as it was said. */
async function restartUntilKept(world: World, planted: readonly Fact[], lines: readonly LogLine[]): Promise<void> {
  const isKept = async (): Promise<boolean> => (await missing(world, planted)).length === 0;
  const failures = (): number => lines.filter(({ message }) => message.includes('model gave no usable answer')).length;
  for (let restarts = 0; restarts < 24 && !(await isKept()); restarts += 1) {
    const before = failures();
    await world.restart();
    await waitFor(async () => failures() > before || (await isKept()), { timeoutMs: 60_000, what: 'the next try' });
  }
}

export interface LongTalk extends Omit<Talk, 'planted'> {
  /** What is asked to save the conversation. */
  readonly double: StepHandler;
  readonly facts: number;
  /** Tokens that the model reads. */
  readonly window: number;
  /** @default openai */
  readonly dialect?: DialectName;
  /** It saves nothing, not even in the end. */
  readonly isBroken?: boolean;
  /** It puts each fact into MEMORY.md. */
  readonly remembers?: boolean;
}

/** What a long conversation cost. */
export interface Figures {
  /** Requests to save a part of it, before `/new`. */
  readonly asides: number;
  /** How often older parts left it, before `/new`. */
  readonly anchors: number;
  /** Milliseconds per turn. */
  readonly pace: number;
}

/** Plants facts in a long conversation, begins afresh, and expects each fact in the notes, found by memory_search. */
export async function expectNothingLost(options: LongTalk): Promise<Figures> {
  const { turns, length, double, window, dialect = 'openai', isBroken = false, remembers = false } = options;
  const planted = facts(options.facts);
  const log = recordingLog();
  const agent = { contextWindow: window, maxOutputTokens: 1_000 };
  await using world = await startWorld({ dialect, log, config: { agent } });
  world.model.setAside(double);
  const began = performance.now();
  await talk(world, { turns, planted, length });
  const pace = (performance.now() - began) / turns;
  const asides = world.model.asides.length;
  const anchors = (await world.tape(SESSION)).filter(({ kind }) => kind === 'anchor').length;
  // What is left in the conversation goes into memory too.
  await say(world, '/new');
  if (isBroken) await restartUntilKept(world, planted, log.lines);
  await waitFor(async () => (await missing(world, planted)).length === 0).catch(() => {});
  expect(await missing(world, planted)).toEqual([]);
  if (remembers) {
    const memory = async (): Promise<string> => (await note(world, 'MEMORY.md')).trim();
    const all = planted.map(({ text }) => `- ${text}`).join('\n');
    await waitFor(async () => (await memory()) === all).catch(() => {});
    expect(await memory()).toBe(all);
  }
  await recallAll(world, planted);
  return { asides, anchors, pace };
}
