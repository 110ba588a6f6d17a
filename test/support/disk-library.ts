import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What `disk.c` and `read-only.c` are told through the environment. */
export interface DiskSettings {
  /** Only files below are looked at. @default all */
  readonly home?: string;
  /** Each sync takes so much longer. @default 0 */
  readonly delayMs?: number;
  /** Only paths that end so are delayed. @default all */
  readonly delayOn?: string;
  /** The delay is a random part of that. @default false */
  readonly random?: boolean;
  /** File of lines about syncs; see `readSyncs`. */
  readonly log?: string;
  /** Folder that keeps what is durable; see `power-cut.ts`. */
  readonly shadow?: string;
  /** While the file `trigger` exists, the next sync of a path that ends in `on` fails, once. */
  readonly fail?: { readonly trigger: string; readonly on: string };
  /** While this file exists, everything below `home` is on a read-only file system. */
  readonly readOnly?: string;
}

/** A sync as the library saw it. */
export interface Sync {
  /** It held up the event loop. */
  readonly onMainThread: boolean;
  /** Milliseconds of `performance.timeOrigin`-free monotonic time. */
  readonly beganMs: number;
  readonly endedMs: number;
  readonly path: string;
}

/** Why nothing can be put between programs and their disk here; undefined if it can. */
export async function whyNoDiskLibrary(): Promise<string | undefined> {
  return (await diskEnvironment({})) === undefined ? 'a C compiler is not installed' : undefined;
}

let building: Promise<string | undefined> | undefined;

/** The environment that puts these libraries between a program and its disk; undefined, with a line that says so, without a C compiler. */
export async function diskEnvironment(settings: DiskSettings): Promise<Readonly<Record<string, string>> | undefined> {
  building ??= build();
  const library = await building;
  if (library === undefined) return undefined;
  const { home, delayMs, delayOn, random, log, shadow, fail, readOnly } = settings;
  return {
    LD_PRELOAD: library,
    ...(home === undefined ? {} : { DISK_HOME: home }),
    ...(delayMs === undefined ? {} : { DISK_DELAY_MS: String(delayMs) }),
    ...(delayOn === undefined ? {} : { DISK_DELAY_ON: delayOn }),
    ...(random === true ? { DISK_RANDOM: '1' } : {}),
    ...(log === undefined ? {} : { DISK_LOG: log }),
    ...(shadow === undefined ? {} : { DISK_SHADOW: shadow }),
    ...(fail === undefined ? {} : { DISK_FAIL: fail.trigger, DISK_FAIL_ON: fail.on }),
    ...(readOnly === undefined ? {} : { DISK_READ_ONLY: readOnly }),
  };
}

/** The syncs that a library wrote to its log, in the order of their ends. */
export function readSyncs(log: string): readonly Sync[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [thread, began, ended, ...path] = line.split(' ');
      return {
        onMainThread: thread === 'main',
        beganMs: Number(began) / 1_000,
        endedMs: Number(ended) / 1_000,
        path: path.join(' '),
      };
    });
}

async function build(): Promise<string | undefined> {
  const library = join(mkdtempSync(join(tmpdir(), 'assistant-disk-')), 'disk.so');
  const sources = ['disk.c', 'read-only.c'].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  try {
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, ...sources, '-ldl']);
    return library;
  } catch (error) {
    console.log(`No library between programs and their disk, so what needs one is skipped: ${String(error)}`);
    return undefined;
  }
}
