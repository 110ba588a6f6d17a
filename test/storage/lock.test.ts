import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { acquireHomeLock, readHolder, requireUnused } from '../../src/core/storage/lock.ts';

let folder: string;
let path: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'));
  path = join(folder, 'lock');
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const self = { pid: process.pid, startedAt: 1_700_000_000_000 };

/** A process that takes the lock, says how that went, and then waits for its end. */
async function otherProcess(): Promise<{ child: ChildProcess; said: string }> {
  const module = new URL('../../src/core/storage/lock.ts', import.meta.url).href;
  const script = `import(${JSON.stringify(module)}).then(({ acquireHomeLock }) => {
    try {
      globalThis.lock = acquireHomeLock(${JSON.stringify(path)}, { pid: process.pid, startedAt: 5 });
      console.log('held');
    } catch (error) {
      console.log(error.code, error.message);
    }
    setInterval(() => {}, 1000);
  })`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [said] = await once(createInterface({ input: child.stdout }), 'line');
  return { child, said: String(said) };
}

describe('the lock of a home', () => {
  test('names its holder to others in the same process and is free after it', async () => {
    expect(readHolder(path)).toBeUndefined();
    const lock = acquireHomeLock(path, self);
    expect(readHolder(path)).toMatchObject({ pid: process.pid, since: self.startedAt });
    expect(() => acquireHomeLock(path, { ...self, pid: 1 })).toThrow(`process ${process.pid}`);
    lock[Symbol.dispose]();
    expect(readHolder(path)).toBeUndefined();
    acquireHomeLock(path, self)[Symbol.dispose]();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['lock']);
  });

  test('is taken again when its file was removed, and is lost when another process was quicker', async () => {
    using lock = acquireHomeLock(path, self);
    expect(lock.look()).toBe('held');
    await rm(path);
    await rm(`${path}.holder`);
    expect(lock.look()).toBe('retaken');
    expect(readHolder(path)?.pid).toBe(process.pid);
    expect((await otherProcess()).said).toMatch(/^home-locked /u);
    await rm(path);
    expect((await otherProcess()).said).toBe('held');
    expect(lock.look()).toBe('lost');
  });

  test('is refused while another process has a file of the home open, whoever removed the lock', async () => {
    const file = join(folder, 'state.db');
    await writeFile(file, '');
    const child = spawn(
      process.execPath,
      ['-e', `require("fs").openSync(${JSON.stringify(file)}); setInterval(() => {}, 1000)`],
      { stdio: 'ignore' },
    );
    children.push(child);
    await waitFor(() => {
      expect(() => requireUnused(path, file)).toThrow(`This home is in use by process ${child.pid} `);
      return true;
    });
    await writeFile(path, '');
    requireUnused(path, file);
  });

  test('keeps a second process out, which says who has it', async () => {
    using _lock = acquireHomeLock(path, self);
    const { said } = await otherProcess();
    expect(said).toMatch(new RegExp(`^home-locked .*process ${process.pid} on .*2023-11-14`, 'u'));
    expect(readHolder(path)?.pid).toBe(process.pid);
  });

  test('is free as soon as its holder is killed', async () => {
    const { child, said } = await otherProcess();
    expect(said).toBe('held');
    expect(readHolder(path)?.pid).toBe(child.pid);
    expect(() => acquireHomeLock(path, self)).toThrow(`process ${child.pid}`);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(readHolder(path)).toBeUndefined();
    using _lock = acquireHomeLock(path, self);
    expect(readHolder(path)?.pid).toBe(process.pid);
  });

  test('goes to exactly one of several that start at once, under its own name', async () => {
    const others = await Promise.all([otherProcess(), otherProcess(), otherProcess()]);
    const winners = others.filter((other) => other.said === 'held');
    expect(winners).toHaveLength(1);
    expect(readHolder(path)?.pid).toBe(winners[0]?.child.pid);
  });

  test('is held on a disk that takes no byte, under no name rather than a wrong one', async () => {
    acquireHomeLock(path, self)[Symbol.dispose]();
    await mkdir(`${path}.holder.partial`);
    using _lock = acquireHomeLock(path, self);
    expect((await stat(path)).size).toBe(0);
    expect(readHolder(path)).toBeUndefined();
    const { said } = await otherProcess();
    expect(said).toMatch(/^home-locked .*in use by another process/u);
  });

  test('says what to do about a file that is no lock', async () => {
    await writeFile(path, 'something else entirely, and long enough to be looked at as a database header'.repeat(20));
    expect(() => acquireHomeLock(path, self)).toThrow(/Could not use the lock file .* move it away/u);
    expect(() => acquireHomeLock(join(folder, 'missing', 'lock'), self)).toThrow(/Could not use the lock file/u);
  });
});
