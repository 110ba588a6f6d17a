import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openProgress } from '../../src/core/cli/progress.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { CommandLine } from './command-line.ts';
import { VirtualScreen } from './virtual-screen.ts';

/** A command line whose home has a journal and a conversation. */
async function furnished(options: { readonly terminal: boolean; readonly home?: string }): Promise<CommandLine> {
  const line = new CommandLine(options);
  const newId = createIds(systemClock, systemRandom);
  const { state, sessions } = homePaths(line.home);
  (await openJournal({ path: state, backupPath: null, clock: systemClock, newId }))[Symbol.dispose]();
  await mkdir(sessions, { recursive: true });
  await writeFile(join(sessions, 'telegram%3a42.jsonl'), '');
  return line;
}

/** A backup is written into a folder of its own. */
function complete(argv: readonly string[]): readonly string[] {
  return argv[0] === 'backup' ? [...argv, '--out', join(temporaryFolder(), 'b.tar.gz')] : argv;
}

describe('the line of progress', () => {
  const LONG_WORK: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['backup', ['backup'], /backed up [\d.]+ MB of [\d.]+ MB/u],
    ['store vacuum', ['store', 'vacuum'], /The databases are made smaller/u],
    ['sessions export', ['sessions', 'export', 'telegram:42'], /The conversation is read/u],
  ];

  test.each(LONG_WORK)('of %s stands on a terminal while it works, and is gone at its end', async (_, argv, text) => {
    const line = await furnished({ terminal: true });
    const screen = new VirtualScreen(line.stderr, 80, 10);
    expect(await line.run(...complete(argv))).toBe(0);
    expect(line.err).toMatch(text);
    expect(line.out).not.toMatch(text);
    expect(await screen.text()).toBe('');
  });

  test.each(LONG_WORK)('of %s is not written into a pipe', async (_, argv) => {
    const line = await furnished({ terminal: false });
    expect(await line.run(...complete(argv))).toBe(0);
    expect(line.err).toBe('');
  });

  test('of restore stands on a terminal while it works, and is gone at its end', async () => {
    const from = await furnished({ terminal: false });
    const file = join(temporaryFolder(), 'b.tar.gz');
    expect(await from.run('backup', '--out', file)).toBe(0);
    const line = new CommandLine({ terminal: true });
    const screen = new VirtualScreen(line.stderr, 80, 10);
    expect(await line.run('restore', file, '--home', join(line.home, 'home'))).toBe(0);
    expect(line.err).toMatch(/read [\d.]+ MB of [\d.]+ MB/u);
    expect(await screen.text()).toBe('');
  });

  test('says how long the work takes from two seconds on, in one row of any width', async () => {
    const line = new CommandLine({ terminal: true });
    const clock = new VirtualClock();
    const screen = new VirtualScreen(line.stderr, 30, 10);
    using progress = openProgress({ stderr: line.stderr, clock, env: {} });
    progress.show('The home is backed up before the new version');
    await clock.advance(1_000);
    expect(await screen.text()).not.toContain(' s)');
    await clock.advance(64_000);
    expect(await screen.lines()).toHaveLength(1);
    expect(await screen.text()).toMatch(/^The home is .+… \(65 s\)$/u);
    progress.hide();
    expect(await screen.text()).toBe('');
    await clock.advance(10_000);
    expect(await screen.text()).toBe('');
  });

  test('is left out on a terminal that cannot draw over a line', () => {
    const line = new CommandLine({ terminal: true });
    using progress = openProgress({ stderr: line.stderr, clock: new VirtualClock(), env: { TERM: 'dumb' } });
    progress.show('The home is backed up');
    expect(line.err).toBe('');
  });
});
