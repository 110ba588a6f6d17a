import { execFile } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { tempFolder } from '../support/temp.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** The lines of docs/backup.md that begin like this, in blocks and in backticks. */
async function lineOf(begin: string): Promise<string> {
  const page = await readFile(join(ROOT, 'docs', 'backup.md'), 'utf8');
  const found = page.split(/[\n`]/u).find((line) => line.startsWith(begin));
  if (found === undefined) throw new Error(`docs/backup.md has no line ${begin}`);
  return found;
}

/** Runs a command of the assistant for the person whose folder this is. */
async function assistant(person: string, ...words: readonly string[]): Promise<string> {
  const program = await builtProgram();
  return (await run(process.execPath, [program.main, ...words], { env: program.environment({ HOME: person }) })).stdout;
}

test('a home that is backed up and moved by the commands of docs/backup.md has its files, jobs and memory', async () => {
  await using folder = await tempFolder();
  const [old, other] = [join(folder.path, 'old'), join(folder.path, 'other')];
  await run('mkdir', [old, other]);
  await assistant(old, 'init', '--yes', '--provider', 'demo', '--timezone', 'Europe/Vienna');
  await assistant(old, 'chat', '-m', 'write hello to notes.txt');
  await assistant(old, 'cron', 'add', 'every 2h', 'stretch');
  await writeFile(
    join(old, '.assistant', 'workspace', 'memory', 'MEMORY.md'),
    '# Memory\n\n- Anna was born on 4 May\n',
  );
  const [status, jobs] = [await assistant(old, 'status'), await assistant(old, 'cron', 'list')];
  expect(jobs).toContain('stretch');

  // As the page says it, on both machines.
  const command = async (begin: string, person: string): Promise<string> => {
    const [, ...words] = (await lineOf(begin)).replace('assistant-backup.tar.gz', file).split(' ');
    return assistant(person, ...words);
  };
  const file = join(folder.path, 'assistant-backup.tar.gz');
  await command('assistant backup --out', old);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await run('rm', ['-r', join(old, '.assistant')]);
  await command('assistant restore assistant-backup.tar.gz --continue', other);

  expect(await assistant(other, 'status')).toBe(status.replaceAll(old, other));
  expect(await assistant(other, 'cron', 'list')).toBe(jobs);
  expect(await assistant(other, 'memory', 'show')).toContain('4 May');
  expect(await assistant(other, 'chat', '-m', 'read notes.txt')).toContain('hello');
}, 180_000);
