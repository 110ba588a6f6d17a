import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { damageTable } from '../support/damaged-home.ts';

/** Only a start reads it. */
const AT_START = 'config.json';

test.each(['off', 'running'] as const)(
  'no damage of a file of the home is silent, while the assistant is %s',
  { timeout: 3_000_000 },
  async (when) => {
    const table = await damageTable(when, (all) => all);
    const sentences = table.map(({ file, how, refused, chat, status }) => {
      const lines = [refused, chat, status].flatMap((text) => text.split('\n'));
      const said = lines.find((line) => line.includes(basename(file)));
      return `${file} × ${how}: ${said?.trim().slice(0, 240) ?? 'SILENT'}`;
    });
    console.log(sentences.join('\n'));
    expect(sentences.filter((line) => line.endsWith('SILENT'))).toEqual([]);
    const untold = table.filter(({ file, refused, chat }) => file !== AT_START && refused === '' && chat === '');
    expect(untold).toEqual([]);
  },
);
