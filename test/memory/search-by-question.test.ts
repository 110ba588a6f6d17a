import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MemorySearch } from '../../src/core/memory/search/search.ts';
import type { SearchQuery } from '../../src/core/memory/search/retriever.ts';
import { searchByQuestion } from '../../src/core/memory/time/search-by-question.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from '../support/temp.ts';
import { tapeOf, type Said } from './search-corpus.ts';

const timezone = 'Europe/Vienna';
const now = Date.parse('2026-11-27T10:00:00Z');

type Ask = (
  text: string,
  more?: Partial<SearchQuery>,
) => Promise<{
  readonly found: readonly string[];
  readonly isMissed: boolean | null;
}>;

/** A home in which these were said, each at a time of UTC. */
async function home(
  said: Readonly<Record<string, readonly (readonly [at: string, text: string])[]>>,
  files: { readonly memory?: string; readonly history?: string } = {},
): Promise<AsyncDisposable & { readonly ask: Ask }> {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempFolder());
  const [sessions, workspace] = [join(path, 'sessions'), join(path, 'workspace')];
  await mkdir(sessions);
  await mkdir(join(workspace, 'memory'), { recursive: true });
  await writeFile(join(workspace, 'memory', 'MEMORY.md'), files.memory ?? '');
  await writeFile(join(workspace, 'memory', 'HISTORY.md'), files.history ?? '');
  for (const [key, texts] of Object.entries(said)) {
    const turns = texts.map(([at, user], n): Said => ({ turn: `t${n}`, user, assistant: '', at: Date.parse(at) }));
    await writeFile(join(sessions, tapeName(key)), tapeOf(key, turns));
  }
  const database = join(path, 'search.db');
  const search = stack.use(
    new MemorySearch({ sessions, workspace, database, timezone, clock: systemClock, log: silentLog }),
  );
  return {
    ask: async (text, more = {}) => {
      const { hits, time } = await searchByQuestion(
        search,
        { text, limit: 6, scope: 'all', ...more },
        { now, timezone },
      );
      return { found: hits.map(({ snippet }) => snippet), isMissed: time?.isMissed ?? null };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const DENTIST = {
  'telegram:1': [
    ['2026-03-10T09:00:00Z', 'the dentist pulled a tooth'],
    ['2026-11-18T09:00:00Z', 'the dentist sent the bill'],
    ['2026-11-26T22:30:00Z', 'the dentist called'],
  ],
} as const;

test('the time that a question names leaves out what was said at another', async () => {
  await using memory = await home(DENTIST);
  expect(await memory.ask('what about the dentist last week?')).toEqual({
    found: ['the dentist sent the bill'],
    isMissed: false,
  });
  expect((await memory.ask('der dentist im März')).found).toEqual(['the dentist pulled a tooth']);
  expect((await memory.ask('dentist 昨天')).found).toEqual(['the dentist called']);
  expect(await memory.ask('dentist')).toMatchObject({ isMissed: null });
});

test('a question that names nothing but a time lists what was said then, summaries first, then the newest', async () => {
  await using memory = await home(
    {
      'telegram:1': [
        ['2026-11-17T09:00:00Z', 'the plumber comes'],
        ['2026-11-19T09:00:00Z', 'the plumber was there'],
        ['2026-11-25T09:00:00Z', 'it leaks again'],
      ],
    },
    { history: '[2026-11-18 20:00] A pipe was mended.\n\n[2026-11-26 20:00] It leaks.\n' },
  );
  const expected = ['[2026-11-18 20:00] A pipe was mended.', 'the plumber was there', 'the plumber comes'];
  for (const question of [
    'What did we talk about last week?',
    'Was haben wir letzte Woche besprochen?',
    '上周我们聊了什么？',
  ]) {
    expect(await memory.ask(question)).toEqual({ found: expected, isMissed: false });
  }
});

test('nobody finds by a time what they do not find by words', async () => {
  await using memory = await home(
    { 'telegram:1': [['2026-11-18T09:00:00Z', 'a secret']], 'telegram:2': [['2026-11-18T10:00:00Z', 'my question']] },
    { history: '[2026-11-18 20:00] A secret plan.\n' },
  );
  expect((await memory.ask('last week', { scope: ['telegram:2'] })).found).toEqual(['my question']);
  expect((await memory.ask('last week', { scope: [null] })).found).toEqual(['[2026-11-18 20:00] A secret plan.']);
  expect((await memory.ask('last week', { scope: [] })).found).toEqual([]);
  expect((await memory.ask('last week', { scope: 'all' })).found).toHaveLength(3);
});

test('when nothing is of that time, what is of another is found, and it is said', async () => {
  await using memory = await home(DENTIST);
  expect(await memory.ask('dentist in June')).toMatchObject({
    found: expect.arrayContaining(['the dentist pulled a tooth']),
    isMissed: true,
  });
});

test('and so is what was said in that time in other words, when it is short', async () => {
  await using memory = await home({
    'telegram:1': [
      ['2026-03-10T09:00:00Z', 'the dentist pulled a tooth'],
      ['2026-11-18T09:00:00Z', 'he drilled for an hour'],
    ],
  });
  expect(await memory.ask('dentist last week')).toEqual({
    found: ['the dentist pulled a tooth', 'he drilled for an hour'],
    isMissed: true,
  });
  expect((await memory.ask('dentist since April')).found).toEqual(['the dentist pulled a tooth']);
});

test('facts without a time stay, and so does what names the date itself', async () => {
  await using memory = await home(
    {
      'telegram:1': [
        ['2026-02-20T09:00:00Z', 'The trip to Rome is on 14 March.'],
        ['2026-02-21T09:00:00Z', 'The trip to Oslo is in June.'],
        ['2026-03-15T09:00:00Z', 'Rome was a good trip.'],
      ],
    },
    { memory: '- Every trip is paid by Anna.\n' },
  );
  const { found } = await memory.ask('trip in March');
  expect(found.toSorted()).toEqual([
    '- Every trip is paid by Anna.',
    'Rome was a good trip.',
    'The trip to Rome is on 14 March.',
  ]);
});

test('days that the call names count before the words of the query', async () => {
  await using memory = await home(DENTIST);
  const march = { since: Date.parse('2026-03-01T00:00:00Z'), until: Date.parse('2026-03-31T00:00:00Z') };
  expect(await memory.ask('dentist last week', march)).toEqual({
    found: ['the dentist pulled a tooth'],
    isMissed: null,
  });
});

test('paragraphs of HISTORY.md have their times in the zone of the person', async () => {
  await using memory = await home(
    {},
    { history: '[2026-11-26 00:20] After midnight.\n\n[2026-11-25 23:50] Before midnight.\n' },
  );
  expect((await memory.ask('yesterday')).found).toEqual(['[2026-11-26 00:20] After midnight.']);
});
