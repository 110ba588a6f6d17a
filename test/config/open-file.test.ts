import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { sentenceOf } from '../../src/core/util/finding.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from './temporary-home.ts';

describe('a configuration file that is open to others', () => {
  const KEY = '{"providers": {"openai": {"apiKey": "sk-0123456789"}}}';

  async function warningsAt(
    mode: number,
    text: string,
    folder = 'home',
  ): Promise<{ path: string; said: readonly string[] }> {
    const home = join(temporaryFolder(), folder);
    const path = join(home, 'config.json');
    mkdirSync(home);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return { path, said: (await loadConfig({ program: PROGRAM, home, env: { KEY: 'x' } })).findings.map(sentenceOf) };
  }

  test.each([0o644, 0o640, 0o604])('is told of when it holds a key and has mode %o', async (mode) => {
    const { path, said } = await warningsAt(mode, KEY);
    expect(said).toEqual([
      `${path} holds keys and may be read by other users of this machine (mode ${mode.toString(8)}). Run: chmod 600 ${path}`,
    ]);
  });

  test.each([0o666, 0o660, 0o622])('is told of when others may change it, key or none: mode %o', async (mode) => {
    const { path, said } = await warningsAt(mode, '{}');
    expect(said).toEqual([
      `${path} may be changed by other users of this machine (mode ${mode.toString(8)}): a person who changes it can run commands as you. Run: chmod 600 ${path}`,
    ]);
  });

  test.each([
    [0o600, KEY],
    [0o400, KEY],
    [0o644, '{"gateway": {"port": 0}}'],
    [0o644, '{"providers": {"openai": {"apiKey": "${KEY}"}}}'],
  ])('is not spoken of with mode %o: %s', async (mode, text) => {
    expect((await warningsAt(mode, text)).said).toEqual([]);
  });

  test('is told of by assistant status, and so is a setting that is not known', async () => {
    const line = new CommandLine();
    writeFileSync(join(line.home, 'config.json'), '{"hoks": {}, "voice": {"apiKey": "sk-0123"}}');
    chmodSync(join(line.home, 'config.json'), 0o644);
    expect(await line.run('status')).toBe(0);
    expect(line.out).toContain(`(mode 644). Run: chmod 600 ${join(line.home, 'config.json')}\n`);
    expect(line.out).toContain('⚠ The setting "hoks" is not known');
  });

  test('is named in a command that a shell takes as it is', async () => {
    const { path, said } = await warningsAt(0o644, KEY, "it's home");
    expect(said[0]).toContain(`Run: chmod 600 '${path.replace("'", String.raw`'\''`)}'`);
  });
});
