import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { candidates } from '../../src/cli/candidates.ts';
import { COMMANDS } from '../support/extensions.ts';
import { assistantCommand } from '../../src/core/util/assistant-command.ts';
import { builtProgram } from '../support/built-program.ts';
import { commandLines, problemOf } from '../docs/command-lines.ts';
import { writeProgram } from '../support/program-file.ts';
import { testWith } from '../support/test-with.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { CommandLine } from './command-line.ts';

const run = promisify(execFile);
const RECORDER = join(import.meta.dirname, '../support/record-loads.ts');
const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** In each shell, a program that is given the words before the cursor and prints what may stand there. */
const SHELLS = {
  bash: 'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _assistant; printf "%s\\n" "${COMPREPLY[@]}"',
  zsh: `compdef() { : }; compadd() { shift; print -l -- $@ }; _describe() { print -l -- \${items%%:*} }
    words=("$@"); CURRENT=$#; _assistant`,
  fish: 'complete -C (string join " " -- $argv) | string replace -r "\\t.*" ""',
} as const;

async function completer(shell: keyof typeof SHELLS): Promise<(...words: string[]) => readonly string[]> {
  const line = new CommandLine();
  expect(await line.run('completion', shell)).toBe(0);
  // zsh hands its own functions to the script, so they come first.
  const [before, after] =
    shell === 'zsh' ? [SHELLS.zsh.split('\n')[0], SHELLS.zsh.split('\n')[1]] : ['', SHELLS[shell]];
  const folder = temporaryFolder();
  const program = writeProgram(join(folder, 'complete'), `${before}\n${line.out}\n${after}\n`);
  writeProgram(join(folder, 'assistant'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  return (...words) => {
    const { stdout, stderr } = spawnSync(shell, [program, 'assistant', ...words], { encoding: 'utf8', env });
    expect(stderr).toBe('');
    return stdout.trim().split('\n');
  };
}

describe.each(['bash', 'zsh', 'fish'] as const)('completion in %s', (shell) => {
  testWith(shell)('offers commands, then those of a group, then options and their values', async () => {
    const complete = await completer(shell);
    expect(complete('')).toEqual(expect.arrayContaining(COMMANDS.map(({ name }) => name)));
    expect(complete('cron', '')).toEqual(expect.arrayContaining(['list', 'add', 'remove', 'run']));
    expect(complete('cron', '')).not.toContain('gateway');
    expect(complete('cron', 'add', '--')).toEqual(expect.arrayContaining(['--kind', '--zone', '--json', '--home']));
    expect(complete('usage', '--by', '')).toEqual(expect.arrayContaining(['day', 'model', 'source', 'session', 'job']));
    expect(complete('--home', '/tmp', 'cron', '')).toContain('add');
    expect(complete('cron', 'remove', '--yes', '--j')).toEqual(['--json']);
  });
});

test('the published package offers the same for every line, without loading its commands', async () => {
  const { launcher, main, environment } = await builtProgram();
  const written = JSON.parse(await readFile(join(main, '../commands.json'), 'utf8')) as typeof COMMANDS;
  const lines = COMMANDS.flatMap((row) => [
    [row.name.slice(0, 2)],
    [row.name, ''],
    ...('commands' in row ? row.commands.map((one) => [row.name, one.name, '--']) : []),
  ]);
  for (const words of [[], [''], ['usage', '--by', ''], ['--home', '/tmp', 'cron', ''], ...lines]) {
    const line = new CommandLine();
    expect(await line.run('__complete', ...words)).toBe(0);
    expect(candidates(written, words), words.join(' ')).toEqual(line.out.split('\n').slice(0, -1));
  }
  const loads = join(temporaryFolder(), 'loads');
  const env = environment({ RECORD_LOADS: loads });
  const words = ['--import', RECORDER, launcher, '__complete', 'usage', '--by', ''];
  expect((await run(process.execPath, words, { env })).stdout).toBe('day\nmodel\nsource\nsession\njob\n');
  expect((await readFile(loads, 'utf8')).match(/^dist.*/gmu)).toEqual(['dist/complete.js']);
});

test('an unknown shell is named with those that there are', async () => {
  const line = new CommandLine();
  expect(await line.run('completion', 'tcsh')).toBe(2);
  expect(line.err).toBe(
    'There is no completion for "tcsh". Choose one of: bash, zsh, fish. See npm run assistant -- completion --help.\n',
  );
});

describe('examples in the help', () => {
  const rows = COMMANDS.flatMap((row) =>
    'commands' in row
      ? row.commands.map((one) => ({ ...one, name: `${row.name} ${one.name}` }))
      : [{ ...row, name: row.name }],
  );

  test.each(rows.map(({ name, examples }) => [name, examples] as const))(
    'of %s are lines that it takes',
    async (name, examples) => {
      for (const example of examples) {
        const [line] = commandLines(`\`assistant ${example}\``);
        if (line === undefined) throw new Error(`not a command line: ${example}`);
        expect(problemOf(line), example).toBe(null);
      }
      const help = new CommandLine();
      expect(await help.run(...name.split(' '), '--help')).toBe(0);
      for (const example of examples) expect(help.out).toContain(assistantCommand(example));
    },
  );

  test('there is one for each command that takes an argument', () => {
    const without = rows
      .filter(({ arguments: given }) => Object.values(given).some(({ isRequired }) => isRequired))
      .filter(({ examples }) => examples.length === 0)
      .map(({ name }) => name);
    expect(without).toEqual([]);
  });
});
