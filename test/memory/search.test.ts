import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MemoryHit, SearchQuery } from '../../src/core/memory/search/retriever.ts';
import { MemorySearch } from '../../src/core/memory/search/search.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';
import { tapeOf, writeCorpus, type Said } from './search-corpus.ts';

interface SearchWorld extends AsyncDisposable {
  readonly search: MemorySearch;
  readonly folder: string;
  readonly database: string;
  readonly log: ReturnType<typeof recordingLog>;
  find(text: string, more?: Partial<SearchQuery>): Promise<readonly MemoryHit[]>;
  snippets(text: string, more?: Partial<SearchQuery>): Promise<readonly string[]>;
  tape(key: string, turns: readonly Said[]): Promise<void>;
  more(key: string, turns: readonly Said[]): Promise<void>;
  note(name: 'MEMORY.md' | 'HISTORY.md', text: string): Promise<void>;
}

async function world(options: { readonly idleMs?: number } = {}): Promise<SearchWorld> {
  const temp = await tempFolder();
  const sessions = join(temp.path, 'sessions');
  const workspace = join(temp.path, 'workspace');
  const database = join(temp.path, 'search.db');
  await mkdir(sessions);
  await mkdir(join(workspace, 'memory'), { recursive: true });
  const log = recordingLog();
  const search = new MemorySearch({ sessions, workspace, database, clock: systemClock, log, ...options });
  const find: SearchWorld['find'] = (text, more = {}) => search.search({ text, limit: 6, scope: 'all', ...more });
  return {
    search,
    folder: temp.path,
    database,
    log,
    find,
    snippets: async (text, more) => (await find(text, more)).map(({ snippet }) => snippet),
    tape: (key, turns) => writeFile(join(sessions, tapeName(key)), tapeOf(key, turns)),
    more: (key, turns) => appendFile(join(sessions, tapeName(key)), tapeOf(key, turns, false)),
    note: (name, text) => writeFile(join(workspace, 'memory', name), text),
    [Symbol.asyncDispose]: async () => {
      await search[Symbol.asyncDispose]();
      await temp[Symbol.asyncDispose]();
    },
  };
}

const TALK: readonly Said[] = [
  { turn: 't1', user: 'My dentist is Dr. Müller in Görlitz', assistant: 'Noted: the dentist.', at: 1_700_000_000_000 },
  { turn: 't2', user: 'We flew to Lisbon by zeppelin 😀', assistant: 'A rare way to travel.', at: 1_710_000_000_000 },
  { turn: 't3', user: '我的狗叫小白', assistant: '多么可爱的名字', at: 1_720_000_000_000 },
  { turn: 't4', user: 'ナポリタンが好きです', assistant: 'おいしいですね', at: 1_730_000_000_000 },
  { turn: 't5', user: 'The Krankenversicherung costs 312 euros', assistant: 'That is much.', at: 1_740_000_000_000 },
];

describe('what is said is found', () => {
  let shared: SearchWorld;

  beforeAll(async () => {
    shared = await world();
    await shared.tape('telegram:42', TALK);
  });

  afterAll(() => shared[Symbol.asyncDispose]());

  test.each([
    ['by an exact word', 'dentist', 'My dentist is Dr. Müller in Görlitz'],
    ['in other case', 'DENTIST', 'My dentist is Dr. Müller in Görlitz'],
    ['with diacritics', 'Müller', 'My dentist is Dr. Müller in Görlitz'],
    ['without them', 'muller', 'My dentist is Dr. Müller in Görlitz'],
    ['by two words in any order', 'Görlitz dentist', 'My dentist is Dr. Müller in Görlitz'],
    ['by a phrase in quotes', '"flew to Lisbon"', 'We flew to Lisbon by zeppelin 😀'],
    ['by the beginning of a word', 'zeppel', 'We flew to Lisbon by zeppelin 😀'],
    ['misspelled by one letter', 'zepelin', 'We flew to Lisbon by zeppelin 😀'],
    ['misspelled by two letters', 'zepplyn', 'We flew to Lisbon by zeppelin 😀'],
    ['by a part of a long word', 'versicherung', 'The Krankenversicherung costs 312 euros'],
    ['by one Chinese character', '狗', '我的狗叫小白'],
    ['by two Chinese characters', '小白', '我的狗叫小白'],
    ['by Japanese words', 'ナポリタン', 'ナポリタンが好きです'],
    ['by an emoji', '😀', 'We flew to Lisbon by zeppelin 😀'],
    ['by a number', '312', 'The Krankenversicherung costs 312 euros'],
    ['when only one of the words is there', 'submarine zeppelin', 'We flew to Lisbon by zeppelin 😀'],
  ])('%s: %s', async (_how, query, expected) => {
    expect(await shared.snippets(query)).toContain(expected);
  });

  test('by a question: its words that only ask do not count', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', [
      ...TALK,
      { turn: 'q', user: 'What is it that you and I do not have?', assistant: 'x', at: 1_750_000_000_000 },
    ]);
    expect(await memory.snippets('What is the name of my dentist?', { limit: 2 })).toContain(
      'My dentist is Dr. Müller in Görlitz',
    );
    expect(await memory.snippets('我的狗叫什么？')).toContain('我的狗叫小白');
    expect(await memory.snippets('what is it')).toContain('What is it that you and I do not have?');
  });

  test('with session, turn, time and speaker', async () => {
    expect((await shared.find('zeppelin'))[0]).toMatchObject({
      source: 'session',
      session: 'telegram:42',
      turn: 't2',
      at: 1_710_000_000_000,
      role: 'user',
      untrusted: false,
    });
  });

  test('and nothing else: no context blocks, tool results, reasoning', async () => {
    for (const word of ['contextual', 'outputword', 'reasonword']) expect(await shared.find(word)).toEqual([]);
  });

  test('in order: what fits all of the query first, what is newer before what is older', async () => {
    await using memory = await world();
    await memory.tape('telegram:1', [
      { turn: 'a', user: 'the red car', assistant: 'x', at: 1_600_000_000_000 },
      { turn: 'b', user: 'the red car', assistant: 'x', at: 1_780_000_000_000 },
      { turn: 'c', user: 'the blue car', assistant: 'x', at: 1_789_000_000_000 },
    ]);
    const turns = (await memory.find('red car')).map(({ turn }) => turn);
    expect(turns.slice(0, 2)).toEqual(['b', 'a']);
  });

  test('but not what a program said in a conversation that is removed after a day', async () => {
    await using memory = await world();
    await memory.tape('ephemeral:01ABC', TALK);
    expect(await memory.find('dentist')).toEqual([]);
  });

  test('within days', async () => {
    expect(await shared.find('dentist', { since: 1_705_000_000_000 })).toEqual([]);
    expect(await shared.find('dentist', { until: 1_705_000_000_000 })).toHaveLength(2);
  });

  test('in a line around it when the text is long', async () => {
    await using memory = await world();
    const long = `${'before '.repeat(200)}the zeppelin\nlands ${'after '.repeat(200)}`;
    await memory.tape('telegram:42', [{ turn: 't', user: long, assistant: 'x' }]);
    const [snippet = ''] = await memory.snippets('zeppelin');
    expect(snippet).toContain('the zeppelin lands');
    expect(snippet.length).toBeLessThan(260);
    expect(snippet).not.toContain('\n');
  });

  test('in a line around it also in a long text without spaces', async () => {
    await using memory = await world();
    const long = `${'天气，'.repeat(200)}zeppelin，${'今天，'.repeat(200)} ${'明天，'.repeat(200)}`;
    await memory.tape('telegram:42', [{ turn: 't', user: long, assistant: 'x' }]);
    expect(await memory.snippets('zeppelin')).toContainEqual(expect.stringContaining('，zeppelin，今天'));
  });
});

describe('a query', () => {
  test('has no operators, and one of nothing finds nothing', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK);
    const odd = [
      '"',
      '""',
      '*',
      'NEAR(a b)',
      '-',
      'a AND',
      'OR',
      'NOT x',
      'body:x',
      '(',
      "'; DROP TABLE x",
      '^a',
      '\0',
      ' … ',
    ];
    for (const query of odd) await memory.find(query);
    expect(await memory.find('"')).toEqual([]);
    expect(await memory.find('  …  ')).toEqual([]);
    expect(await memory.find('NOT zeppelin')).not.toEqual([]);
    expect(await memory.find('zeppelin')).not.toEqual([]);
  });
});

describe('who asks', () => {
  test('finds what is in their own session only, and nothing of the notes', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK);
    await memory.tape('telegram:7', [{ turn: 'g', user: 'my dentist is nice', assistant: 'good' }]);
    await memory.note('MEMORY.md', '- The dentist is on Mondays.');
    await memory.note('HISTORY.md', '[2026-01-01 10:00] Went to the dentist.');
    expect((await memory.find('dentist', { scope: ['telegram:7'] })).map(({ session }) => session)).toEqual([
      'telegram:7',
    ]);
    expect(await memory.find('Krankenversicherung', { scope: ['telegram:7'] })).toEqual([]);
    expect(await memory.find('krankenversicherugn', { scope: ['telegram:7'] })).toEqual([]);
    expect(await memory.find('dentist', { scope: [] })).toEqual([]);
    expect((await memory.find('dentist')).map(({ source }) => source)).toContain('memory');
  });

  test('is told what somebody else than the owner wrote', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', [
      { turn: 't', user: 'a forwarded zeppelin', assistant: 'it is echoed', untrusted: true },
    ]);
    expect((await memory.find('zeppelin'))[0]).toMatchObject({ untrusted: true });
    expect((await memory.find('echoed'))[0]).toMatchObject({ role: 'assistant', untrusted: true });
  });

  test('is told which summary is of a conversation of somebody with fewer rights', async () => {
    await using memory = await world();
    const tags = { owner: 'zeppelin', trusted: 'biplane', guest: 'balloon' };
    const paragraphs = Object.entries(tags).map(
      ([role, word]) => `[2026-01-01 10:00] (telegram:-1, ${role}) A ${word}.`,
    );
    await memory.note('HISTORY.md', paragraphs.join('\n\n'));
    const found = async (word: string): Promise<unknown> => (await memory.find(word))[0]?.belowOwner;
    expect([await found('zeppelin'), await found('biplane'), await found('balloon')]).toEqual([undefined, true, true]);
  });
});

describe('the index follows the files', () => {
  test('a turn is found once it has ended', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', [{ turn: 't1', user: 'the zeppelin', assistant: 'x', ended: false }]);
    expect(await memory.find('zeppelin')).toEqual([]);
    const end = tapeOf('telegram:42', [{ turn: 't1', user: 'u', assistant: 'x' }], false)
      .trim()
      .split('\n')
      .at(-1);
    await appendFile(join(memory.folder, 'sessions', tapeName('telegram:42')), `${end}\n`);
    expect(await memory.snippets('zeppelin')).toEqual(['the zeppelin']);
  });

  test('what is added later is found, and nothing twice', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK.slice(0, 1));
    expect(await memory.find('zeppelin')).toEqual([]);
    await memory.more('telegram:42', TALK.slice(1, 2));
    expect(await memory.find('zeppelin')).toHaveLength(1);
    await memory.more('telegram:42', TALK.slice(2));
    expect(await memory.find('zeppelin')).toHaveLength(1);
  });

  test('turns that were taken back are not found any more', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK);
    expect(await memory.find('zeppelin')).toHaveLength(1);
    const retract = { v: 1, id: 'r', at: 1, turn: null, kind: 'retract', turns: ['t2'] };
    await appendFile(join(memory.folder, 'sessions', tapeName('telegram:42')), `${JSON.stringify(retract)}\n`);
    expect(await memory.find('zeppelin')).toEqual([]);
    expect(await memory.find('dentist')).not.toEqual([]);
  });

  test('a tape that was replaced is read anew, one that is gone is forgotten', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK);
    await memory.find('zeppelin');
    const path = join(memory.folder, 'sessions', tapeName('telegram:42'));
    await rm(path);
    await memory.tape('telegram:42', [{ turn: 'n', user: 'a new story', assistant: 'x' }]);
    expect(await memory.find('zeppelin')).toEqual([]);
    expect(await memory.find('story')).toHaveLength(1);
    await rm(path);
    expect(await memory.find('story')).toEqual([]);
  });

  test('damaged and torn lines are passed over', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK.slice(0, 1));
    const path = join(memory.folder, 'sessions', tapeName('telegram:42'));
    await appendFile(path, '{"v":1,"kind":"mess\n');
    await memory.more('telegram:42', TALK.slice(1, 2));
    await appendFile(path, '{"v":1,"torn');
    expect(await memory.find('zeppelin')).toHaveLength(1);
  });

  test('MEMORY.md by its lines and HISTORY.md by its paragraphs, edited by hand too', async () => {
    await using memory = await world();
    await memory.note('MEMORY.md', '# Memory\n\n- Called Ming.\n- Likes zeppelins.\n');
    await memory.note(
      'HISTORY.md',
      '# History\n\n[2026-01-02 10:00] Bought a zeppelin.\nIt was red.\n\n[2026-01-03 11:00] Sold it.\n',
    );
    expect((await memory.find('zeppelin')).map(({ source, snippet }) => [source, snippet])).toEqual(
      expect.arrayContaining([
        ['memory', '- Likes zeppelins.'],
        ['history', '[2026-01-02 10:00] Bought a zeppelin. It was red.'],
      ]),
    );
    await memory.note('MEMORY.md', '# Memory\n\n- Called Ming.\n- Likes balloons.\n');
    expect((await memory.find('zeppelins')).map(({ source }) => source)).not.toContain('memory');
    expect(await memory.snippets('balloons')).toEqual(['- Likes balloons.']);
  });
});

describe('the index', () => {
  test('is made again when its file is lost, damaged or of another version', async () => {
    const temp = await world();
    await using memory = temp;
    await memory.tape('telegram:42', TALK);
    expect(await memory.find('zeppelin')).toHaveLength(1);
    await memory.search[Symbol.asyncDispose]();
    for (const damage of ['garbage '.repeat(2_000), '']) {
      for (const suffix of ['-wal', '-shm']) await rm(memory.database + suffix, { force: true });
      await writeFile(memory.database, damage);
      const again = new MemorySearch({
        sessions: join(memory.folder, 'sessions'),
        workspace: join(memory.folder, 'workspace'),
        database: memory.database,
        clock: systemClock,
        log: memory.log,
      });
      expect(await again.search({ text: 'zeppelin', limit: 6, scope: 'all' })).toHaveLength(1);
      await again[Symbol.asyncDispose]();
    }
    expect(memory.log.lines.some(({ message }) => message.includes('made again'))).toBe(true);
  });

  test('damaged while it is open is made again', async () => {
    await using memory = await world();
    await memory.tape('telegram:42', TALK);
    await memory.find('zeppelin');
    for (const suffix of ['-wal', '-shm']) await rm(memory.database + suffix, { force: true });
    await writeFile(memory.database, 'garbage '.repeat(20_000));
    await memory.more('telegram:42', [{ turn: 'n', user: 'a submarine', assistant: 'x' }]);
    expect(await memory.find('submarine')).toHaveLength(1);
    expect(await memory.find('zeppelin')).toHaveLength(1);
  });

  test('has a thread that ends when nobody needs it, and starts again', async () => {
    await using memory = await world({ idleMs: 20 });
    await memory.tape('telegram:42', TALK);
    expect(await memory.find('zeppelin')).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await memory.find('zeppelin')).toHaveLength(1);
  });

  test('that cannot be made is one sentence', async () => {
    await using memory = await world();
    await mkdir(memory.database);
    await expect(memory.find('zeppelin')).rejects.toThrow(/^The memory could not be searched: /u);
  });

  test('of 4,000 messages answers at once', async () => {
    await using memory = await world();
    writeCorpus(join(memory.folder, 'sessions'), 4_000);
    await memory.find('zeppelin');
    // The best of some rounds: on a busy machine others take their turns in between.
    let least = Infinity;
    for (let round = 0; round < 10 && least >= 500; round += 1) {
      const began = performance.now();
      for (const query of ['zeppelin', 'house garden', 'house', 'zepelin', '小']) await memory.find(query);
      least = Math.min(least, performance.now() - began);
    }
    expect(least).toBeLessThan(500);
  });
});
