import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { fused } from '../../src/core/memory/meaning/fuse.ts';
import { VECTOR_TABLES, Vectors } from '../../src/core/memory/meaning/vectors.ts';
import { waitFor } from '../support/wait.ts';
import { meaningWorld, type MeaningWorld } from './meaning-world.ts';

const FACTS = ['I went to the wedding in June.', 'A tooth was pulled.', 'The suitcase was lost.', 'Tea at four.'];

async function worldWith(...facts: readonly string[]): Promise<MeaningWorld> {
  const world = await meaningWorld();
  await world.note('MEMORY.md', facts.map((fact) => `- ${fact}\n`).join(''));
  return world;
}

async function allEmbedded(world: MeaningWorld, model?: string): Promise<void> {
  await (await world.open(model)).embed();
}

describe('what means the same', () => {
  test('is found though it shares no word', async () => {
    await using world = await worldWith(...FACTS);
    await allEmbedded(world);
    expect((await world.find('dentist'))[0]).toBe('- A tooth was pulled.');
    expect((await world.find('What happened to my luggage?'))[0]).toBe('- The suitcase was lost.');
    expect(world.server.keys).toEqual(new Set(['Bearer key-of-vectors-1']));
  });

  test('is not found by words only, as without a model', async () => {
    await using world = await worldWith(...FACTS);
    await allEmbedded(world);
    expect(await world.find('dentist', { by: 'words' })).toEqual([]);
    await world.open(null);
    expect(await world.find('dentist')).toEqual([]);
  });

  test('comes beside what words find, which is never left out', async () => {
    const named = Array.from({ length: 6 }, (_, n) => `The dentist wrote letter number ${n}.`);
    await using world = await worldWith(...named, 'A tooth was pulled.', 'Teeth, teeth, teeth.');
    await allEmbedded(world);
    const byWords = await world.find('dentist letter', { by: 'words' });
    const both = await world.find('dentist letter');
    expect(byWords).toHaveLength(3);
    expect(both).toEqual(expect.arrayContaining([...byWords]));
    expect(both.length).toBeLessThanOrEqual(6);
  });

  test('is nothing for a question that means nothing here', async () => {
    const others = Array.from({ length: 60 }, (_, n) => `Note ${n} of the ${n % 7}th drawer holds thing${n}.`);
    await using world = await worldWith(...others, 'A tooth was pulled.');
    await allEmbedded(world);
    expect(await world.find('qwertz zxcv asdf')).toEqual([]);
    expect(await world.find('dentist')).toEqual(['- A tooth was pulled.']);
  });

  test('is found only where the person may search, and in the time that is asked for', async () => {
    await using world = await worldWith('A tooth was pulled.');
    const day = 86_400_000;
    await world.tape('telegram:1', [{ turn: 'a', user: 'teeth hurt', assistant: 'x', at: 10 * day }]);
    await world.tape('telegram:2', [{ turn: 'b', user: 'they drilled', assistant: 'y', at: 20 * day }]);
    await allEmbedded(world);
    expect((await world.find('dentist')).toSorted()).toEqual(['- A tooth was pulled.', 'teeth hurt', 'they drilled']);
    expect(await world.find('dentist', { scope: ['telegram:2'] })).toEqual(['they drilled']);
    expect(await world.find('dentist', { scope: [null] })).toEqual(['- A tooth was pulled.']);
    expect(await world.find('dentist', { scope: [] })).toEqual([]);
    expect(await world.find('dentist', { scope: ['telegram:3'] })).toEqual([]);
    expect(await world.find('dentist', { since: 15 * day })).toEqual(['they drilled']);
    expect(await world.find('dentist', { scope: ['telegram:2'], until: 15 * day })).toEqual([]);
    expect((await world.find('dentist', { until: 15 * day, dates: [] })).toSorted()).toEqual([
      '- A tooth was pulled.',
      'teeth hurt',
    ]);
  });
});

describe('the texts', () => {
  test('are embedded in the background after the first search, in batches, without secrets, each once', async () => {
    const many = Array.from({ length: 70 }, (_, n) => `Fact ${n} about hunter2.`);
    await using world = await worldWith(...many);
    const search = await world.open();
    await search.search({ text: 'fact', limit: 1, scope: 'all' });
    await waitFor(() => search.meaning?.counts?.embedded === 70);
    const sent = world.server.asked.flat();
    expect(sent.filter((text) => text.includes('hunter2'))).toEqual([]);
    expect(sent.filter((text) => text.includes('[secret]'))).toHaveLength(70);
    expect(Math.max(...world.server.asked.map(({ length }) => length))).toBe(32);
    const requests = world.server.asked.length;
    await search.embed();
    expect(world.server.asked).toHaveLength(requests);
  });

  test('that are gone leave no vector, those that come get one, and a known text is not sent again', async () => {
    await using world = await worldWith(...FACTS);
    await allEmbedded(world);
    expect(world.vectors()).toEqual({ 'one/1024': 4 });
    await world.note('MEMORY.md', '- Tea at four.\n- A new yoghurt.\n');
    await world.tape('telegram:1', [{ turn: 'a', user: '- Tea at four.', assistant: '- A new yoghurt.' }]);
    const before = world.server.asked.length;
    await allEmbedded(world);
    expect(world.vectors()).toEqual({ 'one/1024': 4 });
    expect(
      world.server.asked
        .slice(before)
        .flat()
        .filter((text) => text === '- Tea at four.'),
    ).toEqual([]);
    expect(await world.find('dentist')).toEqual([]);
    expect(await world.find('milk')).toContain('- A new yoghurt.');
  });

  test('that the server does not take are passed over, and the others are embedded', async () => {
    await using world = await worldWith(...FACTS);
    world.server.refuses = /suitcase/u;
    await allEmbedded(world);
    expect(await world.find('dentist')).toContain('- A tooth was pulled.');
    expect(await world.find('luggage')).toEqual([]);
    expect(await world.find('suitcase')).toEqual(['- The suitcase was lost.']);
    const requests = world.server.asked.length;
    await (await world.open()).embed();
    expect(world.server.asked.slice(requests).flat()).toEqual(['memory']);
  });

  test('that are larger than the batch of llama.cpp are shortened, and found by their beginning', async () => {
    const long = `A tooth was pulled. ${'And the ferry came late. '.repeat(40)}`.trim();
    await using world = await worldWith(long, ...FACTS.slice(2));
    world.server.refuses = /^[^]{400,}$/u;
    world.server.refusal = {
      status: 500,
      message:
        'input (1410 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
    };
    await allEmbedded(world);
    expect(world.vectors()).toEqual({ 'one/1024': 3 });
    expect((await world.find('dentist'))[0]).toContain('A tooth was pulled.');
  });
});

describe('another model', () => {
  test('has vectors of its own: the old are never compared with its questions, and go when it has all', async () => {
    await using world = await worldWith(...FACTS);
    await allEmbedded(world, 'one');
    const search = await world.open('two');
    world.server.onRequest = () => {
      if (world.server.asked.at(-1)?.includes('- A tooth was pulled.') === true) world.server.status = 500;
    };
    expect(await world.find('dentist')).toEqual([]);
    await waitFor(() => search.meaning?.trouble !== null);
    expect(world.vectors()).toEqual({ 'one/1024': 4 });
    world.server.onRequest = () => {};
    world.server.status = 200;
    await allEmbedded(world, 'two');
    expect(world.vectors()).toEqual({ 'two/1024': 4 });
    expect((await world.find('dentist'))[0]).toBe('- A tooth was pulled.');
  });

  test('and so has one that gives other numbers under the same name', async () => {
    await using world = await worldWith(...FACTS);
    await allEmbedded(world);
    world.server.dimensions = 64;
    const search = await world.open();
    await search.search({ text: 'dentist', limit: 3, scope: 'all' });
    await waitFor(() => search.meaning?.counts?.embedded === 4);
    expect(world.vectors()).toEqual({ 'one/64': 4 });
    expect((await world.find('dentist'))[0]).toBe('- A tooth was pulled.');
  });

  test('goes on after an end in the middle, with what is missing alone', async () => {
    const many = Array.from({ length: 100 }, (_, n) => `Fact number ${n}.`);
    await using world = await worldWith(...many);
    const search = await world.open();
    const sent = (): readonly string[] => world.server.asked.flat().filter((text) => text.startsWith('- Fact'));
    const third = Promise.withResolvers<void>();
    const never = new Promise<void>(() => {});
    world.server.onRequest = () => {
      if (sent().length <= 64) return;
      third.resolve();
      return never;
    };
    const embedding = search.embed();
    await third.promise;
    expect(world.vectors()).toEqual({ 'one/1024': 64 });
    world.server.onRequest = () => {};
    const before = sent().length;
    await allEmbedded(world);
    await embedding;
    expect(sent().length - before).toBe(36);
    expect(world.vectors()).toEqual({ 'one/1024': 100 });
  });
});

describe('a server that does not answer', () => {
  test('leaves words, is said once, and is not asked with each search', async () => {
    await using world = await worldWith(...FACTS);
    await allEmbedded(world);
    world.server.status = 503;
    const search = await world.open();
    expect(await world.find('suitcase')).toEqual(['- The suitcase was lost.']);
    expect(search.meaning?.trouble).toMatch(/^127\.0\.0\.1:\d+ answered 503: `not today`$/u);
    const requests = world.server.asked.length;
    expect(await world.find('dentist')).toEqual([]);
    expect(await world.find('tea')).toEqual(['- Tea at four.']);
    expect(world.server.asked).toHaveLength(requests);
    expect(world.log.lines.filter(({ message }) => message.startsWith('meaning:'))).toHaveLength(1);
  });

  test('that is gone is named too', async () => {
    await using world = await worldWith(...FACTS);
    await world.server[Symbol.asyncDispose]();
    const search = await world.open();
    expect(await world.find('suitcase')).toEqual(['- The suitcase was lost.']);
    expect(search.meaning?.trouble).toMatch(/^127\.0\.0\.1:\d+ could not be reached$/u);
  });
});

test('two rankings are joined: what both have comes first, and the first of the words are all there', () => {
  expect(fused([1, 2, 3, 4], [4, 5, 6], 3).map(({ id }) => id)).toEqual([4, 1, 2, 3]);
  expect(fused([1, 2], [5, 6, 7], 2).map(({ id }) => id)).toEqual([1, 5, 2]);
  expect(fused([1, 2, 3], [], 2).map(({ id }) => id)).toEqual([1, 2]);
  expect(fused([], [7, 8, 9], 2).map(({ id }) => id)).toEqual([7, 8]);
});

test('the nearest by 8 bits, looked at with all digits, are the nearest', () => {
  let state = 7;
  const number = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32 - 0.5;
  const unit = (plain: readonly number[]): Float32Array => {
    const length = Math.hypot(...plain);
    return Float32Array.from(plain, (value) => value / length);
  };
  const anyOf = (size: number): readonly number[] => Array.from({ length: size }, number);
  using db = new DatabaseSync(':memory:');
  db.exec(`CREATE TABLE documents (id INTEGER PRIMARY KEY, session TEXT, at INTEGER, text TEXT); ${VECTOR_TABLES}`);
  const rows = Array.from({ length: 500 }, (_, n) => ({ id: n + 1, text: `text ${n}`, vector: unit(anyOf(96)) }));
  for (const { id, text } of rows) db.prepare('INSERT INTO documents VALUES (?, NULL, NULL, ?)').run(id, text);
  const vectors = new Vectors(db);
  vectors.keep('m', rows);
  const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  for (let round = 0; round < 50; round += 1) {
    // Like several of them, each a little.
    const parts = rows.slice(round * 8, round * 8 + 5).map(({ vector }) => vector);
    const question = unit(anyOf(96).map((value, at) => parts.reduce((sum, part) => sum + (part[at] ?? 0), value / 4)));
    const near = vectors.near({ text: 'x', limit: 6, scope: 'all' }, { model: 'm', vector: question }, 6);
    const exact = rows
      .map(({ id, vector }) => ({ id, similarity: dot(question, vector) }))
      .toSorted((a, b) => b.similarity - a.similarity)
      .slice(0, near.length);
    expect(near.length).toBeGreaterThan(2);
    expect(near.map(({ id }) => id)).toEqual(exact.map(({ id }) => id));
  }
});

describe('a fact that was just told', () => {
  const hasVectors = async (world: MeaningWorld, count: number): Promise<boolean> => {
    try {
      return Object.values(world.vectors()).reduce((sum, n) => sum + n, 0) >= count;
    } catch {
      // The index isn't there yet.
      return false;
    }
  };

  test('has its vector within 5 s, also while the home says something every moment', async () => {
    await using world = await worldWith();
    const search = await world.open();
    await world.note('MEMORY.md', '- A tooth was pulled.\n');
    const busy = setInterval(() => search.scheduleSync(), 100);
    try {
      search.scheduleSync();
      await waitFor(() => hasVectors(world, 1), { timeoutMs: 5_000, what: 'the vector of the fact' });
    } finally {
      clearInterval(busy);
    }
  });
});
