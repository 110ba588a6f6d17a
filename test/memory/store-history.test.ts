import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderHistory } from '../../src/core/memory/files/history-file.ts';
import { failureOf } from '../config/temporary-home.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { memoryWorld } from './memory-world.ts';

const AT = Date.UTC(2026, 10, 21, 23, 30);

describe('a paragraph', () => {
  test.each([
    ['begins with local time', { at: AT, text: 'Talked about tea.' }, '[2026-11-22 00:30] Talked about tea.'],
    [
      'names where it comes from',
      { at: AT, tag: 'telegram:-100, guest', text: 'Asked.' },
      '[2026-11-22 00:30] (telegram:-100, guest) Asked.',
    ],
    ['cannot leave its brackets', { at: AT, tag: '(a)\n[2026] b', text: 'x' }, '[2026-11-22 00:30] (a [2026] b) x'],
    ['folds empty lines', { at: AT, text: '\n a\n \n\r\n\n\tb\u2028\u2028c \n' }, '[2026-11-22 00:30] a\n\tb\nc'],
    [
      'indents lines that look like another one',
      { at: AT, text: 'a\n[2020-01-01 10:00] b\n\n   [1999-12-31 x\n[x]' },
      '[2026-11-22 00:30] a\n  [2020-01-01 10:00] b\n  [1999-12-31 x\n[x]',
    ],
    ['drops what makes a file binary', { at: AT, text: 'a\0b\u001b[1m' }, '[2026-11-22 00:30] ab[1m'],
  ])('%s', (_name, entry, rendered) => {
    expect(renderHistory(entry, 'Europe/Berlin')).toBe(rendered);
  });

  test('of nothing is none', () => {
    expect(renderHistory({ at: AT, text: ' \n\t' }, null)).toBeUndefined();
  });

  test('is always one paragraph with one beginning', () => {
    const text = fc.array(fc.constantFrom('a', ' ', '\n', '\r', '[2020-01-01 10:00]', '(x)', '\u2029', 'é'));
    fc.assert(
      fc.property(text, text, (words, tags) => {
        const rendered = renderHistory({ at: AT, tag: tags.join(''), text: words.join('') }, 'UTC');
        if (rendered === undefined) return words.join('').trim() === '';
        const starts = rendered.split('\n').filter((line) => /^\[\d{4}-\d\d-\d\d \d\d:\d\d\]/u.test(line));
        return starts.length === 1 && !/\n\s*\n|\n$/u.test(rendered) && rendered.startsWith('[2026-11-21 23:30]');
      }),
    );
  });
});

describe('HISTORY.md', () => {
  test('grows by paragraphs with an empty line between them, private', async () => {
    await using world = await memoryWorld();
    await world.store.appendHistory([
      { at: AT, text: 'one' },
      { at: AT, text: ' ' },
      { at: AT, text: 'two' },
    ]);
    await world.store.appendHistory([{ at: AT + 60_000, tag: 'discord:7', text: 'three' }]);
    expect(await world.text(world.history)).toBe(
      '[2026-11-22 00:30] one\n\n[2026-11-22 00:30] two\n\n[2026-11-22 00:31] (discord:7) three\n',
    );
    expect((await stat(world.history)).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['# History', '# History\n\n[2026-11-22 00:30] new\n'],
    ['# History\n', '# History\n\n[2026-11-22 00:30] new\n'],
    ['# History\n\n', '# History\n\n[2026-11-22 00:30] new\n'],
    ['', '[2026-11-22 00:30] new\n'],
    ['# History\r\n\r\n', '# History\r\n\r\n\n[2026-11-22 00:30] new\n'],
  ])('after %j a new paragraph stands apart', async (before, after) => {
    await using world = await memoryWorld();
    await world.edit(before, world.history);
    await world.store.appendHistory([{ at: AT, text: 'new' }]);
    expect(await world.text(world.history)).toBe(after);
  });

  test('an append may be repeated: what is there is not written again', async () => {
    await using world = await memoryWorld();
    const entries = [
      { at: AT, text: 'one\n\nmore' },
      { at: AT, text: 'two' },
    ];
    await world.store.appendHistory(entries);
    const before = await world.text(world.history);
    const disk = new FakeDisk();
    const later = world.open({ open: disk.open });
    await later.appendHistory(entries);
    await later.appendRendered(entries.map((entry) => renderHistory(entry, 'Europe/Berlin') ?? ''));
    expect(disk.writes).toBe(0);
    expect(await world.text(world.history)).toBe(before);
    await later.appendHistory([...entries, { at: AT, text: 'three' }]);
    expect(await world.text(world.history)).toBe(`${before}\n[2026-11-22 00:30] three\n`);
  });

  test('a paragraph longer than the looked-at end is recognised', async () => {
    await using world = await memoryWorld();
    const entry = { at: AT, text: 'long '.repeat(100_000) };
    await world.store.appendHistory([entry]);
    const { size } = await stat(world.history);
    await world.store.appendHistory([entry]);
    expect((await stat(world.history)).size).toBe(size);
  });

  test('a part of a paragraph, or one within another, does not count as it', async () => {
    await using world = await memoryWorld();
    await world.store.appendHistory([{ at: AT, text: 'tea and milk\nand sugar' }]);
    await world.store.appendHistory([{ at: AT, text: 'tea' }]);
    expect(await world.text(world.history)).toBe(
      '[2026-11-22 00:30] tea and milk\nand sugar\n\n[2026-11-22 00:30] tea\n',
    );
  });

  test('a crash at any byte of an append is healed by repeating it', async () => {
    await using world = await memoryWorld();
    const entries = [
      { at: AT, text: 'Grüße\nund 😀' },
      { at: AT, text: 'zwei' },
    ];
    const start = '# History\n\n[2026-01-01 10:00] before\n';
    await world.edit(start, world.history);
    await world.store.appendHistory(entries);
    const whole = Buffer.from(await world.text(world.history));
    for (let length = Buffer.byteLength(start); length <= whole.length; length += 1) {
      await world.edit(whole.subarray(0, length), world.history);
      await world.store.appendHistory(entries);
      expect((await world.text(world.history)).trimEnd()).toBe(whole.toString().trimEnd());
    }
  });

  test('a full disk leaves no trace, is said in one sentence, and heals', async () => {
    const disk = new FakeDisk();
    await using world = await memoryWorld({ open: disk.open });
    await world.store.appendHistory([{ at: AT, text: 'one' }]);
    const before = await world.text(world.history);
    disk.space = 10;
    const error = await failureOf(world.store.appendHistory([{ at: AT, text: 'two' }]));
    expect(error.message).toContain('the disk is full');
    expect(await world.text(world.history)).toBe(before);
    disk.space = Number.POSITIVE_INFINITY;
    await world.store.appendHistory([{ at: AT, text: 'two' }]);
    expect(await world.text(world.history)).toBe(`${before}\n[2026-11-22 00:30] two\n`);
    expect(disk.opened).toBe(disk.closed);
  });

  test('appends at once are all there, each once', async () => {
    await using world = await memoryWorld();
    const texts = Array.from({ length: 20 }, (_, i) => `entry ${i}`);
    await Promise.all([...texts, ...texts].map((text) => world.store.appendHistory([{ at: AT, text }])));
    const paragraphs = (await world.text(world.history)).trimEnd().split('\n\n');
    expect(paragraphs).toEqual(texts.map((text) => `[2026-11-22 00:30] ${text}`));
  });

  test('bytes that are no text are kept as they are', async () => {
    await using world = await memoryWorld();
    await world.edit(Buffer.from([0xff, 0xfe, 0x0a]), world.history);
    await world.store.appendHistory([{ at: AT, text: 'new' }]);
    expect((await stat(world.history)).size).toBe(3 + '\n[2026-11-22 00:30] new\n'.length);
  });

  test('a folder in its place is one clear sentence', async () => {
    await using world = await memoryWorld();
    await mkdir(world.history, { recursive: true });
    expect((await failureOf(world.store.appendHistory([{ at: AT, text: 'x' }]))).message).toContain('is a folder');
    await rm(dirname(world.history), { recursive: true });
    await world.edit('a file', dirname(world.history));
    expect((await failureOf(world.store.appendHistory([{ at: AT, text: 'x' }]))).message).toContain('a file stands');
  });
});
