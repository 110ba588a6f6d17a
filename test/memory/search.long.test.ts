import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MemorySearch } from '../../src/core/memory/search/search.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from '../support/temp.ts';
import { writeCorpus } from './search-corpus.ts';

const QUERIES = {
  'rare word': 'zeppelin',
  'two words': 'house garden',
  'common word': 'house',
  phrase: '"house garden"',
  misspelling: 'zepelin',
  'other spelling': 'Gorlitz',
  'one character': '小',
  'two characters': '小白',
  emoji: '😀',
  'beginning of a word': 'hous',
  nothing: 'nonexistentword qwertz',
};

test('100,000 messages are searched in less than 50 ms', async () => {
  await using folder = await tempFolder();
  const sessions = join(folder.path, 'sessions');
  writeCorpus(sessions, 100_000);
  const database = join(folder.path, 'search.db');
  const setup = { sessions, workspace: folder.path, database, clock: systemClock, log: silentLog, timeoutMs: 120_000 };
  await using search = new MemorySearch(setup);
  const began = performance.now();
  await search.search({ text: 'zeppelin', limit: 6, scope: 'all' });
  const built = Math.round(performance.now() - began);
  const rows: Record<string, number> = {};
  for (const [what, text] of Object.entries(QUERIES)) {
    const times: number[] = [];
    for (let round = 0; round < 40; round += 1) {
      const start = performance.now();
      await search.search({ text, limit: 6, scope: round % 2 === 0 ? 'all' : ['telegram:3'] });
      times.push(performance.now() - start);
    }
    rows[what] = Math.round(10 * (times.toSorted((a, b) => a - b)[37] ?? Infinity)) / 10;
  }
  const megabytes = Math.round(statSync(database).size / 1e6);
  process.stdout.write(`search: built in ${built} ms, ${megabytes} MB; p95 ms ${JSON.stringify(rows)}\n`);
  expect(Math.max(...Object.values(rows))).toBeLessThan(50);
});
