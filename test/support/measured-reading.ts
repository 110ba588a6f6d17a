import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childIds, memoryOf } from './child-processes.ts';
import type { Bomb } from './document-bombs.ts';
import type { HostTask } from './document-host.ts';
import { tempFolder } from './temp.ts';

/** What reading one document took. */
export interface Measured {
  readonly name: string;
  readonly bytes: number;
  /** The beginning of what came out, or the sentence that says why nothing did. */
  readonly text: string;
  /** Bytes of memory at the worst moment: the process that has it read, its children, and both together. */
  readonly host: number;
  readonly child: number;
  readonly together: number;
  readonly ms: number;
}

const LOOK_MS = 2;

/** A process that reads documents one after the other, as the daemon does, while its memory is watched. */
export async function measuredReading(): Promise<
  { readonly read: (bomb: Bomb, role: HostTask['role']) => Promise<Measured> } & AsyncDisposable
> {
  const folder = await tempFolder();
  const file = new URL('./document-host.ts', import.meta.url);
  const host: ChildProcess = fork(file, [folder.path], { execArgv: ['--max-semi-space-size=4'], env: {} });
  await once(host, 'message');
  let count = 0;
  return {
    read: async (bomb, role) => {
      count += 1;
      const path = join(folder.path, `document-${count}`);
      const bytes = bomb.bytes();
      await writeFile(path, bytes);
      const peak = { host: 0, child: 0, together: 0 };
      const looking = setInterval(() => {
        const pid = host.pid ?? 0;
        const own = memoryOf(pid).now;
        const children = childIds(pid).reduce((sum, child) => sum + memoryOf(child).most, 0);
        peak.host = Math.max(peak.host, own);
        peak.child = Math.max(peak.child, children);
        peak.together = Math.max(peak.together, own + children);
      }, LOOK_MS);
      const begun = performance.now();
      host.send({ path, fetched: bomb.fetched ?? null, role } satisfies HostTask);
      const [{ text }] = (await once(host, 'message')) as [{ text: string }];
      clearInterval(looking);
      await rm(path);
      return { name: bomb.name, bytes: bytes.length, text, ...peak, ms: performance.now() - begun };
    },
    [Symbol.asyncDispose]: async () => {
      host.kill('SIGKILL');
      await folder[Symbol.asyncDispose]();
    },
  };
}
