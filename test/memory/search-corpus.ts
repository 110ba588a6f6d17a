import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tapeName } from '../../src/core/session/tape-name.ts';

const WORDS =
  'house garden river mountain table window letter music winter summer friend doctor ticket train station market bread coffee paper camera engine bridge island forest pocket mirror candle blanket kettle hammer ladder basket'.split(
    ' ',
  );

/** Numbers that look random and are the same each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export interface Said {
  readonly turn: string;
  readonly user: string;
  readonly assistant: string;
  /** @default true */
  readonly ended?: boolean;
  readonly at?: number;
  readonly untrusted?: boolean;
}

/** The lines of a tape in which this was said. */
export function tapeOf(key: string, turns: readonly Said[], first = true): string {
  const lines: unknown[] = first ? [{ v: 1, id: `${key}-0`, at: 1, turn: null, kind: 'session', key }] : [];
  for (const { turn, user, assistant, ended = true, at = 1_790_000_000_000, untrusted } of turns) {
    const base = { v: 1, at, turn };
    const marked = untrusted === true ? { untrusted: true } : {};
    const id = (n: number): string => `${key}.${turn}.${n}`;
    lines.push(
      { ...base, id: id(1), kind: 'turn-start', sources: [], role: 'owner', origin: 'user' },
      {
        ...base,
        ...marked,
        id: id(2),
        kind: 'message',
        role: 'user',
        sources: [],
        content: [
          { type: 'text', text: '<context>\ntime: contextual o’clock\n</context>' },
          { type: 'text', text: user },
        ],
      },
      {
        ...base,
        id: id(3),
        kind: 'message',
        role: 'tool',
        callId: 'c',
        name: 'read_file',
        output: 'outputword',
        isError: false,
      },
      {
        ...base,
        id: id(4),
        kind: 'message',
        role: 'assistant',
        content: [
          { type: 'reasoning', provider: 'p', model: 'm', text: 'reasonword', data: null },
          { type: 'text', text: assistant },
        ],
        provider: 'p',
        model: 'm',
        stopReason: 'end',
        usage: null,
      },
    );
    const usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
    const target = { channel: 'telegram', chatId: '1' };
    const end = { outcome: 'answered', answer: assistant, target, usage, costUsd: null, model: null, iterations: 1 };
    if (ended) lines.push({ ...base, id: id(5), kind: 'turn-end', ...end });
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Writes tapes with so many messages in all; a few of them hold something rare. */
export function writeCorpus(sessions: string, messages: number): void {
  const random = numbers(7);
  const some = (count: number): string =>
    Array.from({ length: count }, () => WORDS[random(WORDS.length)] ?? '').join(' ');
  mkdirSync(sessions, { recursive: true });
  const perTape = 2_000;
  for (let tape = 0; tape * perTape < messages; tape += 1) {
    const turns = Array.from({ length: Math.min(perTape, messages - tape * perTape) / 2 }, (_, n): Said => {
      const number = (tape * perTape) / 2 + n;
      const rare = number % 5_000 === 17 ? ' the zeppelin over Görlitz, 我的狗叫小白 and 😀 ' : '';
      return {
        turn: `t${number}`,
        user: `${some(10 + random(20))}${rare} word${number}`,
        assistant: some(15 + random(30)),
        at: 1_750_000_000_000 + number * 60_000,
      };
    });
    writeFileSync(join(sessions, tapeName(`telegram:${tape}`)), tapeOf(`telegram:${tape}`, turns));
  }
}
