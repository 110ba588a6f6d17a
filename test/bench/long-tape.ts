import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tapeName } from '../../src/core/session/tape-name.ts';

/** A tape of so many short turns, all of which a model reads. */
export async function writeHistory(folder: string, key: string, turns: number): Promise<void> {
  const tape = new TapeWriter(key);
  for (let i = 0; i < turns; i += 1) tape.turn('x'.repeat(40));
  await tape.write(folder);
}

/** A tape of `count` entries whose last twenty messages stand behind an anchor, as consolidation leaves it. */
export async function writeLongTape(folder: string, key: string, count: number): Promise<void> {
  const tape = new TapeWriter(key);
  let last = '';
  for (let left = Math.floor((count - 42) / 4); left > 0; left -= 1) last = tape.turn('x'.repeat(300));
  for (let i = 0; i < 10; i += 1) tape.turn('x'.repeat(300));
  tape.add({
    kind: 'anchor',
    turn: null,
    summary: 'They talked about questions.',
    upTo: last,
    reason: 'consolidation',
  });
  await tape.write(folder);
}

class TapeWriter {
  readonly #key: string;
  readonly #lines: string[] = [];

  constructor(key: string) {
    this.#key = key;
    this.add({ kind: 'session', turn: null, key });
  }

  add(entry: Readonly<Record<string, unknown>>): string {
    const id = this.#id();
    this.#lines.push(JSON.stringify({ v: 1, id, at: 1_700_000_000_000 + this.#lines.length, ...entry }));
    return id;
  }

  /** A question and its answer; returns the id of its last entry. */
  turn(words: string): string {
    const turn = this.#id();
    const content = (text: string): readonly unknown[] => [
      { type: 'text', text: `${text} ${this.#lines.length} ${words}` },
    ];
    const usage = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
    this.add({ kind: 'turn-start', turn, sources: [], role: 'owner', origin: 'user' });
    this.add({ kind: 'message', role: 'user', turn, sources: [], content: content('question') });
    this.add({
      kind: 'message',
      role: 'assistant',
      turn,
      content: content('answer'),
      provider: 'openai',
      model: 'bench',
      stopReason: 'stop',
      usage: null,
    });
    return this.add({
      kind: 'turn-end',
      turn,
      outcome: 'answered',
      answer: 'a',
      target: { channel: 'telegram', chatId: '1' },
      usage,
      costUsd: null,
      model: null,
      iterations: 1,
    });
  }

  async write(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, tapeName(this.#key)), `${this.#lines.join('\n')}\n`);
  }

  #id(): string {
    return `01BENCH${String(this.#lines.length + 1).padStart(19, '0')}`;
  }
}
