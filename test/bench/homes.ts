import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Row } from './table.ts';
import { onProcessorMs } from './child.ts';
import { pause, type World } from './world.ts';

/** What one process takes that runs many homes. */
interface Taken {
  readonly startedMs: number;
  readonly resident: number;
  readonly memory: NodeJS.MemoryUsage;
  readonly threads: number;
  readonly files: number;
  readonly watches: number;
}

/** Sweeps, first looks and other things of a start are over then. */
const SETTLED_MS = 150_000;
const WATCHED_MS = 60_000;

/** What homes cost in which nothing happens, each a whole assistant with a bot of its own, all in one process. */
export async function measureIdleHomes(
  world: World,
  { library, homes, short }: { readonly library: string; readonly homes: number; readonly short: boolean },
): Promise<readonly Row[]> {
  const folder = join(world.folder, `idle-${homes}`);
  const config = JSON.stringify(world.settings('{n}:bench'));
  const file = join(import.meta.dirname, 'many-child.mjs');
  const args = ['--max-semi-space-size=4', file, pathToFileURL(library).href, folder, String(homes), config];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', MALLOC_ARENA_MAX: '2' },
  });
  const gone = once(child, 'exit');
  try {
    const ended = gone.then(([code]) => Promise.reject(new Error(`ended with ${String(code)}`)));
    await Promise.race([once(child, 'message'), ended]);
    ended.catch(() => {});
    await pause(short ? 10_000 : SETTLED_MS);
    const before = onProcessorMs(child.pid ?? 0);
    await pause(short ? 20_000 : WATCHED_MS);
    const cpu = (100 * (onProcessorMs(child.pid ?? 0) - before)) / (short ? 20_000 : WATCHED_MS);
    child.send('what?');
    const [taken] = (await once(child, 'message')) as [Taken];
    const row = (what: string, value: number, unit: Row['unit']): Row => ({
      what: `${homes} idle homes: ${what}`,
      value,
      unit,
    });
    return [
      row('started within', taken.startedMs / 1_000, 's'),
      row('memory', taken.resident / 2 ** 20, 'MiB'),
      row('of that, objects of JavaScript', taken.memory.heapUsed / 2 ** 20, 'MiB'),
      row('outside of its heap', taken.memory.external / 2 ** 20, 'MiB'),
      row('time on a processor', cpu, '%'),
      row('threads', taken.threads, ''),
      row('open files', taken.files, ''),
      row('watched paths', taken.watches, ''),
    ];
  } finally {
    child.kill('SIGKILL');
    await gone;
  }
}
