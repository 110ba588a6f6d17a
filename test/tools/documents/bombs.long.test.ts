import { expect, test } from 'vitest';
import { DOCUMENT_BOMBS } from '../../support/document-bombs.ts';
import { measuredReading, type Measured } from '../../support/measured-reading.ts';

const MB = 1024 ** 2;

/** A line of the table that is printed at the end. */
function line({ name, bytes, child, together, ms, text }: Measured): string {
  const megabytes = (held: number): string => `${Math.round(held / MB)} MB`.padStart(7);
  const facts = [
    `${bytes}`.padStart(9),
    megabytes(child),
    megabytes(together),
    `${(ms / 1000).toFixed(1)} s`.padStart(7),
  ];
  return `${name.padEnd(62)} ${facts.join(' ')}  ${JSON.stringify(text.slice(0, 60))}`;
}

test('no kind of document takes more than 300 MB, or more than 150 MB where a guest asked for it', async () => {
  await using reading = await measuredReading();
  const table: Measured[] = [];
  for (const bomb of DOCUMENT_BOMBS)
    table.push(await reading.read(bomb, bomb.fetched === undefined ? 'owner' : 'guest'));
  const head = `${'document'.padEnd(62)} ${['bytes'.padStart(9), '  child', '    all', '   time'].join(' ')}  what came out`;
  process.stdout.write(`${[head, ...table.map(line)].join('\n')}\n`);
  expect(table.length).toBeGreaterThanOrEqual(20);
  expect(table.filter(({ together }) => together > 300 * MB)).toEqual([]);
  const fetched = new Set(DOCUMENT_BOMBS.flatMap(({ name, fetched }) => (fetched === undefined ? [] : [name])));
  expect(table.filter(({ name, child }) => fetched.has(name) && child > 150 * MB)).toEqual([]);
  expect(table.filter(({ ms }) => ms > 40_000)).toEqual([]);
});
