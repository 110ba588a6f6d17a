import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { factsByKey } from '../../src/core/memory/facts/difference.ts';
import type { FactRows, Writer } from '../../src/core/memory/facts/source.ts';
import { MemoryStore, type MemoryStoreOptions } from '../../src/core/memory/files/store.ts';
import { plainDisk } from '../../src/core/storage/disk.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DAY_MS = 86_400_000;

/** A memory with records, whose process can end before any of its writes. */
class RecordedMemory implements AsyncDisposable {
  readonly clock = new VirtualClock(Date.UTC(2026, 2, 4, 12));
  readonly #folder: Awaited<ReturnType<typeof tempFolder>>;
  readonly journal: Journal;
  store: MemoryStore;
  /** Writes that are left until the process ends; null: it does not. */
  left: number | null = null;

  private constructor(folder: Awaited<ReturnType<typeof tempFolder>>, journal: Journal, clock: VirtualClock) {
    this.#folder = folder;
    this.journal = journal;
    this.clock = clock;
    this.store = this.#open();
  }

  static async open(): Promise<RecordedMemory> {
    const folder = await tempFolder();
    const clock = new VirtualClock(Date.UTC(2026, 2, 4, 12));
    const newId = createIds(clock, systemRandom);
    const path = join(folder.path, 'state.db');
    return new RecordedMemory(folder, await openJournal({ path, backupPath: null, clock: systemClock, newId }), clock);
  }

  /** As the next process finds it. */
  async restart(): Promise<void> {
    this.left = null;
    this.store = this.#open();
    await this.store.catchUp();
  }

  text(name: 'MEMORY.md' | 'HISTORY.md' = 'MEMORY.md'): Promise<string> {
    return readFile(join(this.#folder.path, 'memory', name), 'utf8').catch(() => '');
  }

  async edit(text: string): Promise<void> {
    await mkdir(join(this.#folder.path, 'memory'), { recursive: true });
    await writeFile(join(this.#folder.path, 'memory', 'MEMORY.md'), text);
  }

  write(fact: string, turn: string, replaces?: string): ReturnType<MemoryStore['change']> {
    const by = { how: 'memory_write', session: 'telegram:42', turn } as const;
    return this.store.change({ fact, ...(replaces === undefined ? {} : { replaces }) }, { by });
  }

  async rewrite(text: string, by: Writer = { how: 'consolidation', session: 'telegram:42' }): Promise<void> {
    const { hash } = await this.store.read();
    await this.store.replace(text, { ifHash: hash, reason: 'test', allowShrink: true, by });
  }

  /** What HISTORY.md says of facts that left. */
  async gone(): Promise<readonly string[]> {
    return [...(await this.text('HISTORY.md')).matchAll(/No longer [^:]+: “([^”]+)”/gu)].map((match) => match[1] ?? '');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.journal[Symbol.dispose]();
    await this.#folder[Symbol.asyncDispose]();
  }

  #open(): MemoryStore {
    const { facts } = this.journal;
    const rows: FactRows = {
      holding: () => facts.holding(),
      ended: (most) => facts.ended(most),
      change: () => facts.change(),
      step: async (step) => {
        this.#mayEnd();
        await facts.step(step);
      },
    };
    const disk: MemoryStoreOptions['disk'] = {
      replace: async (path, bytes) => {
        this.#mayEnd();
        await plainDisk.replace(path, bytes);
      },
      open: async (path) => {
        this.#mayEnd();
        return await plainDisk.open(path);
      },
    };
    const { path } = this.#folder;
    const places = { workspace: path, versions: join(path, 'versions') };
    return new MemoryStore({ ...places, clock: this.clock, log: silentLog, timezone: 'UTC', disk, facts: rows });
  }

  #mayEnd(): void {
    if (this.left === null) return;
    if (this.left === 0) throw new Error('the process has ended');
    this.left -= 1;
  }
}

/** Whole numbers below a limit, the same for each seed. */
function seededRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

describe('the records of facts', () => {
  test('are right after a change that is cut off at any step, and HISTORY.md has its paragraph once', async () => {
    for (let left = 0; left < 8; left += 1) {
      await using memory = await RecordedMemory.open();
      await memory.write('Lives in Berlin', 't1');
      await memory.clock.advance(3 * DAY_MS);
      memory.left = left;
      await memory.write('Lives in Paris', 't2', 'Lives in Berlin').catch(() => undefined);
      await memory.restart();
      const isMade = (await memory.text()).includes('Paris');
      const [known] = await memory.store.facts();
      expect(known?.record, `after ${left} writes`).toMatchObject(
        isMade
          ? { fact: 'Lives in Paris', how: 'memory_write', turn: 't2', session: 'telegram:42' }
          : { fact: 'Lives in Berlin', how: 'memory_write', turn: 't1' },
      );
      expect(await memory.gone(), `after ${left} writes`).toEqual(isMade ? ['Lives in Berlin'] : []);
      expect(await memory.store.endedFacts(9)).toHaveLength(isMade ? 1 : 0);
      // The same again, as a caller that was not told of its end may do.
      await memory.write('Lives in Paris', 't2', 'Lives in Berlin');
      expect(await memory.gone()).toEqual(['Lives in Berlin']);
    }
  });

  test('keep the days of each time in which a fact held', async () => {
    await using memory = await RecordedMemory.open();
    await memory.write('Lives in Berlin', 't1');
    await memory.clock.advance(10 * DAY_MS);
    await memory.write('Lives in Paris', 't2', 'Berlin');
    await memory.clock.advance(10 * DAY_MS);
    await memory.write('Lives in Berlin', 't3', 'Paris');
    const history = await memory.text('HISTORY.md');
    expect(history).toContain('“Lives in Berlin” It stood from 2026-03-04 to 2026-03-14. Now: “Lives in Paris”');
    expect(history).toContain('“Lives in Paris” It stood from 2026-03-14 to 2026-03-24. Now: “Lives in Berlin”');
    expect((await memory.store.facts()).map(({ record }) => record.turn)).toEqual(['t3']);
  });

  test('of two writes at the same time, and of a person who edits the file meanwhile, are each their own', async () => {
    await using memory = await RecordedMemory.open();
    await memory.edit('- Lives in Berlin\n- Likes tea\n');
    const { hash } = await memory.store.read();
    await memory.edit('- Lives in Berlin\n- Likes tea\n- By hand\n');
    const stale = memory.store.replace('- Lives in Rome\n', {
      ifHash: hash,
      reason: 'slow',
      by: { how: 'consolidation' },
    });
    const [done] = await Promise.all([
      stale,
      memory.write('Lives in Paris', 'a', 'Berlin'),
      memory.write('Has a cat', 'b'),
    ]);
    expect(done).toEqual({ ok: false, why: 'changed' });
    const sources = (await memory.store.facts()).map(({ fact, record }) => [fact, record.how, record.turn]);
    expect(sources).toEqual([
      ['Lives in Paris', 'memory_write', 'a'],
      ['Likes tea', 'edit', null],
      ['By hand', 'edit', null],
      ['Has a cat', 'memory_write', 'b'],
    ]);
    expect(await memory.gone()).toEqual(['Lives in Berlin']);
  });

  test('name what took the place of a fact by its words, else by its place, else nothing', async () => {
    await using memory = await RecordedMemory.open();
    await memory.edit('- A cat\n- Lives in Berlin\n- Works as a cook\n- B cat\n- Sold\n');
    await memory.rewrite('- A cat\n- Is a teacher now\n- B cat\n- Lives in Paris\n');
    const ended = (await memory.store.endedFacts(9)).map(({ fact, ended: end }) => [fact, end?.replacedBy]);
    expect(Object.fromEntries(ended)).toEqual({
      'Lives in Berlin': 'Lives in Paris',
      'Works as a cook': 'Is a teacher now',
      Sold: null,
    });
    await memory.rewrite('- A cat\n- Retired\n- B cat\n- Lives in Paris\n');
    expect((await memory.store.endedFacts(1))[0]).toMatchObject({
      fact: 'Is a teacher now',
      ended: { replacedBy: 'Retired' },
    });
  });

  test('stay with a fact that is only written anew, and do not say of one that was added to that it no longer holds', async () => {
    await using memory = await RecordedMemory.open();
    await memory.write('Lives in Berlin', 't1');
    await memory.write('Writes C++', 't2');
    await memory.rewrite('- **Lives in “Berlin”.**\n- Writes C#\n');
    expect((await memory.store.facts()).map(({ fact, record }) => [fact, record.turn])).toEqual([
      ['**Lives in “Berlin”.**', 't1'],
      ['Writes C#', null],
    ]);
    await memory.rewrite('- Lives in Berlin since May\n- Writes C#\n');
    const history = await memory.text('HISTORY.md');
    expect(history).toContain('No longer holds: “Writes C++”');
    expect(history).toContain(
      'Written anew: “**Lives in “Berlin”.**” It stood from 2026-03-04 to 2026-03-04. Now: “Lives in Berlin since May”',
    );
    expect(await memory.gone()).toEqual(['Writes C++']);
  });

  test('stay with a version that is restored: its facts have their old sources', async () => {
    await using memory = await RecordedMemory.open();
    await memory.write('Likes tea', 't1');
    await memory.write('Likes cake', 't2');
    const [version] = await memory.store.log();
    await memory.rewrite('- Nothing\n');
    await memory.store.restore(version?.id ?? '');
    expect((await memory.store.facts()).map(({ record }) => record.turn)).toEqual(['t1']);
  });

  test('hold exactly what the file says, whatever is done and wherever it is cut off', async () => {
    const cities = ['Berlin', 'Paris', 'Rome', 'Oslo'];
    for (let seed = 1; seed <= 15; seed += 1) {
      await using memory = await RecordedMemory.open();
      const random = seededRandom(seed);
      const pick = (): string => cities[random(cities.length)] ?? '';
      const wrote = new Map<string, string>();
      for (let step = 0; step < 12; step += 1) {
        await memory.clock.advance(DAY_MS);
        memory.left = random(3) === 0 ? random(6) : null;
        const [turn, fact] = [`t${step}`, `Lives in ${pick()}`];
        const before = await memory.text();
        try {
          switch (random(4)) {
            case 0:
              await memory.edit(`- Lives in ${pick()}\n- By hand ${step}\n`);
              break;
            case 1:
              await memory.rewrite(`- ${fact}\n- Summed up ${step}\n`, {
                how: 'consolidation',
                told: [{ fact, turn, at: 1 }],
              });
              break;
            default:
              await memory.write(fact, turn, 'Lives in');
          }
        } catch {
          // The process ended.
        }
        if (memory.left !== null) await memory.restart();
        const after = await memory.text();
        if (after.includes(fact) && !before.includes(fact)) wrote.set(fact, turn);
        const known = await memory.store.facts();
        expect(
          known.map(({ fact: one }) => one),
          `seed ${seed}, step ${step}`,
        ).toEqual([...factsByKey(after).values()]);
        expect(memory.journal.facts.change()).toBeNull();
      }
      for (const { fact, record } of await memory.store.facts()) {
        if (record.how !== 'edit' && fact.startsWith('Lives'))
          expect(record.turn, `seed ${seed}`).toBe(wrote.get(fact));
      }
    }
  });
});
