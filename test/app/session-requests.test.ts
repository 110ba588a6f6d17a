import { linkSync } from 'node:fs';
import { mkdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SessionIndex } from '../../src/core/session/session-index.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { failureOf } from '../config/temporary-home.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

/** A tape with these messages of a person, last changed at this second. */
async function putTape(folder: string, key: string, second: number, ...texts: readonly string[]): Promise<void> {
  const lines = texts.map((text, index) =>
    JSON.stringify({
      v: 1,
      id: `01J0000000000000000000000${index}`,
      at: 1,
      turn: 't',
      kind: 'message',
      role: 'user',
      sources: ['m'],
      content: [{ type: 'text', text }],
    }),
  );
  const path = join(folder, tapeName(key));
  await writeFile(path, lines.map((line) => `${line}\n`).join(''));
  await utimes(path, second, second);
}

describe('the list of sessions', () => {
  test('is the latest first, a page at a time, without one twice, also where times are equal', async () => {
    await using folder = await tempFolder();
    for (let n = 0; n < 25; n += 1) await putTape(folder.path, `telegram:${n}`, 1_000 + Math.floor(n / 5), `text ${n}`);
    const index = new SessionIndex(folder.path, () => new Set(['telegram:24']));
    const seen: string[] = [];
    let before: string | undefined;
    do {
      const page = await index.page({ limit: 4, ...(before === undefined ? {} : { before }) });
      expect(page.sessions.length).toBeLessThanOrEqual(4);
      seen.push(...page.sessions.map(({ session }) => session));
      before = page.next ?? undefined;
    } while (before !== undefined);
    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
    expect(new Set(seen.slice(0, 5))).toEqual(new Set(['20', '21', '22', '23', '24'].map((n) => `telegram:${n}`)));
    const { sessions } = await index.page({ limit: 25 });
    expect(sessions.filter(({ running }) => running).map(({ session }) => session)).toEqual(['telegram:24']);
  });

  test('shows those of one channel', async () => {
    await using folder = await tempFolder();
    await putTape(folder.path, 'web:main', 1, 'a');
    await putTape(folder.path, 'telegram:1', 2, 'b');
    const page = await new SessionIndex(folder.path, () => new Set()).page({ limit: 9, channel: 'web' });
    expect(page).toMatchObject({ sessions: [{ session: 'web:main', channel: 'web', title: 'a' }], next: null });
  });

  test('has as title what the person wrote last, on one line, read again when the tape changed', async () => {
    await using folder = await tempFolder();
    const index = new SessionIndex(folder.path, () => new Set());
    const title = async (): Promise<string | undefined> => (await index.page({ limit: 1 })).sessions[0]?.title;
    await putTape(folder.path, 'web:main', 1, 'first', `second\n${'long '.repeat(40)}`);
    expect(await title()).toMatch(/^second long long .{0,70}…$/u);
    await putTape(folder.path, 'web:main', 2, 'third');
    expect(await title()).toBe('third');
    await putTape(folder.path, 'web:main', 3);
    expect(await title()).toBe('');
  });

  test('does not read a huge tape for its title', async () => {
    await using folder = await tempFolder();
    await putTape(folder.path, 'web:main', 1, 'above all', 'x'.repeat(20_000_000));
    const before = process.memoryUsage().rss;
    const { sessions } = await new SessionIndex(folder.path, () => new Set()).page({ limit: 1 });
    expect(sessions).toMatchObject([{ title: '' }]);
    expect(process.memoryUsage().rss - before).toBeLessThan(15_000_000);
  });

  test('reads no more of ten thousand sessions than the titles of the page', async () => {
    await using folder = await tempFolder();
    await mkdir(folder.path, { recursive: true });
    // Their tapes are one file under many names, which takes a fifth of the time to make.
    await putTape(folder.path, 'telegram:0', 1, 'hi');
    const first = join(folder.path, tapeName('telegram:0'));
    for (let n = 1; n < 9_999; n += 1) linkSync(first, join(folder.path, tapeName(`telegram:${n}`)));
    await putTape(folder.path, 'telegram:9999', 2, 'hi');
    const index = new SessionIndex(folder.path, () => new Set());
    const began = process.cpuUsage();
    const page = await index.page({ limit: 50 });
    const { user, system } = process.cpuUsage(began);
    expect(page.sessions[0]).toMatchObject({ session: 'telegram:9999', title: 'hi' });
    expect(page.sessions).toHaveLength(50);
    // Processor time, so that a busy machine does not matter.
    expect((user + system) / 1_000).toBeLessThan(2_000);
  }, 180_000);
});

test('a conversation can be exported as Markdown and as JSON', async () => {
  await using world = await startWorld();
  world.model.reply('Blue.');
  world.telegram.userSays(OWNER, 'Which colour?');
  await waitFor(() => chatOf(world).includes('Blue.'));
  const session = 'telegram:42';
  const md = await world.assistant.call('sessionsExport', { session, format: 'md' });
  expect(md.name).toBe('telegram%3a42.md');
  expect(md.text).toMatch(/^# telegram:42\n\n## .* you\n\nWhich colour\?\n\n## .* assistant\n\nBlue\.\n$/u);
  const { text } = await world.assistant.call('sessionsExport', { session, format: 'json' });
  expect(JSON.parse(text)).toMatchObject({ session, events: [{ kind: 'user' }, { kind: 'assistant', text: 'Blue.' }] });
  expect(await world.assistant.call('sessionsRead', { session })).toEqual(JSON.parse(text).events);
  const unknown = world.assistant.call('sessionsExport', { session: 'telegram:7', format: 'md' });
  expect((await failureOf(unknown)).code).toBe('session-unknown');
  const { sessions } = await world.assistant.call('sessionsList', { limit: 5 });
  expect(sessions).toMatchObject([{ session, title: 'Which colour?', running: false }]);
  expect(sessions[0]?.size).toBe((await stat(join(world.home, 'sessions', tapeName(session)))).size);
});
