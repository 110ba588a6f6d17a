import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOCUMENT_BOMBS } from '../../support/document-bombs.ts';
import { measuredReading } from '../../support/measured-reading.ts';

const MB = 1024 ** 2;
/** What a document must never take: by the owner, the process that has it read and its child together; by a guest, the child. */
const MOST = 300 * MB;
const MOST_OF_GUEST = 150 * MB;

/** One of each kind of reader, among them those that took gigabytes. */
const WORST = [
  'PDF: a page packed three times over (600 MB)',
  'PDF: an object stream (400 MB)',
  'Word: 59 MB of elements within elements',
  'Excel: 59 MB of empty shared texts',
  'Excel: 59 MB of rows',
  'PowerPoint: one slide of 20 MB, 5,000 times',
  'text: 50 million empty lines',
  'fetched PDF: a page packed three times over (600 MB)',
];

let reading: Awaited<ReturnType<typeof measuredReading>>;
beforeAll(async () => {
  reading = await measuredReading();
});
afterAll(() => reading[Symbol.asyncDispose]());

const bombs = DOCUMENT_BOMBS.filter(({ name }) => WORST.includes(name));

describe('a document that is made to overload its reader', () => {
  test('is there for each of the worst kinds', () => {
    expect(bombs.map(({ name }) => name).toSorted()).toEqual(WORST.toSorted());
  });

  test.each(bombs)('$name: takes no more than 300 MB, all in all', async (bomb) => {
    const { together, text, ms } = await reading.read(bomb, 'owner');
    expect(together).toBeLessThan(MOST);
    expect(text).toMatch(/needs more than 300 MB of memory to read|^1\t|could not be read in/u);
    expect(ms).toBeLessThan(30_000);
  });

  test('takes no more than 150 MB for a guest, who is told so, and nothing is left behind', async () => {
    const bomb = bombs.find(({ fetched }) => fetched === 'pdf');
    const before = await reading.read({ name: 'nothing', bytes: () => Buffer.from('x'), fetched: 'text' }, 'guest');
    const { child, text } = await reading.read(bomb ?? expect.fail(), 'guest');
    const after = await reading.read({ name: 'nothing', bytes: () => Buffer.from('x'), fetched: 'text' }, 'guest');
    expect(child).toBeLessThan(MOST_OF_GUEST);
    expect(text).toContain('The page needs more than 150 MB of memory to read, so reading it was stopped.');
    expect(after.host - before.host).toBeLessThan(10 * MB);
  });
});
