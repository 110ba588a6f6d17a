import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tapeName } from '../../src/session/tape-name.ts';

/** A tape of `count` entries whose last twenty messages stand behind an anchor, as consolidation leaves it. */
export async function writeLongTape(folder: string, key: string, count: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const lines: string[] = [];
  let n = 0;
  const add = (entry: Record<string, unknown>): string => {
    n += 1;
    const id = `01BENCH${String(n).padStart(19, '0')}`;
    lines.push(JSON.stringify({ v: 1, id, at: 1_700_000_000_000 + n, turn: null, ...entry }));
    return id;
  };
  const user = (turn: string): string =>
    add({
      kind: 'message',
      role: 'user',
      turn,
      sources: [],
      content: [{ type: 'text', text: `question ${n} ${'x'.repeat(300)}` }],
    });
  const assistant = (turn: string): string =>
    add({
      kind: 'message',
      role: 'assistant',
      turn,
      content: [{ type: 'text', text: `answer ${n} ${'y'.repeat(300)}` }],
      provider: 'openai',
      model: 'bench',
      stopReason: 'stop',
      usage: null,
    });
  add({ kind: 'session', key });
  let last = '';
  for (let left = Math.floor((count - 42) / 4); left > 0; left -= 1) {
    const turn = `T${n}`;
    add({ kind: 'turn-start', turn, sources: [], role: 'owner', origin: 'user' });
    user(turn);
    assistant(turn);
    last = end(add, turn);
  }
  for (let i = 0; i < 10; i += 1) {
    const turn = `T${n}`;
    add({ kind: 'turn-start', turn, sources: [], role: 'owner', origin: 'user' });
    user(turn);
    assistant(turn);
    end(add, turn);
  }
  add({ kind: 'anchor', summary: 'They talked about questions.', upTo: last, reason: 'consolidation' });
  await writeFile(join(folder, tapeName(key)), `${lines.join('\n')}\n`);
}

function end(add: (entry: Record<string, unknown>) => string, turn: string): string {
  const usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  const target = { channel: 'telegram', chatId: '1' };
  return add({
    kind: 'turn-end',
    turn,
    outcome: 'answered',
    answer: 'a',
    target,
    usage,
    costUsd: null,
    model: null,
    iterations: 1,
  });
}
