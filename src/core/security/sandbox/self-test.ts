import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { lstat, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import type { Random } from '../../util/random.ts';
import { errorCode } from '../../util/errors.ts';
import { ATTEMPTS, CONNECT_SCRIPT, ESCAPE_SCRIPT, type Attempt } from './escape-script.ts';
import { launch, type SandboxedCommand } from './launch.ts';
import { ensureProtectedPlaces } from '../enclosure/protected-places.ts';
import type { SandboxEngine, SandboxProfile } from './profile.ts';

/**
 * `failed`: nothing could be run, `said` is what bwrap said. Otherwise what got through and what could not be tried.
 */
export type TestOutcome =
  | { readonly kind: 'failed'; readonly said: string }
  | {
      readonly kind: 'tried';
      readonly open: readonly Attempt[];
      readonly unknown: readonly Attempt[];
      readonly works: boolean;
    };

/** Longest path of a socket, characters. */
const LONGEST_SOCKET_PATH = 100;
const OUTPUT_CHARS = 20_000;
/** What dies with its parent is gone in milliseconds. */
const ORPHAN_MS = 1_000;

const CONTENT = 'as it was\n';

/** A place to escape from, a world around it to escape to, and who watches. */
export interface EscapeWorld extends AsyncDisposable {
  /** Tries everything with one engine. Rejects with the signal's reason when aborted. */
  test(engine: SandboxEngine, signal: AbortSignal): Promise<TestOutcome>;
}

/** Builds it in `folder`, which must be a new one, and which is gone afterwards. */
export async function buildEscapeWorld(folder: string, clock: Clock, random: Random): Promise<EscapeWorld> {
  const mark = Buffer.from(random.bytes(12)).toString('hex');
  // Not the mark itself: it is an argument of the process inside that tries it.
  const abstract = Buffer.from(random.bytes(12)).toString('hex');
  const workspace = join(folder, 'workspace');
  await mkdir(join(workspace, '.git'), { recursive: true, mode: 0o700 });
  const files: Readonly<Record<string, string>> = {
    canary: `${mark}\n`,
    'workspace/mark.txt': `${mark}\n`,
    'workspace/escape.sh': ESCAPE_SCRIPT,
    'workspace/connect.cjs': CONNECT_SCRIPT,
    'workspace/SOUL.md': CONTENT,
    'workspace/.git/config': CONTENT,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
  const path = join(folder, 'socket');
  // Where the path is too long for a socket, a name that cannot exist is tried: the abstract one tells the same.
  const servers = await Promise.all([
    listen({ host: '127.0.0.1', port: 0 }),
    listen({ path: `\0${abstract}` }),
    ...(Buffer.byteLength(path) <= LONGEST_SOCKET_PATH ? [listen({ path })] : []),
  ]);
  const address = servers[0].server.address();
  const environment = {
    PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
    OUTSIDE: folder,
    NODE: process.execPath,
    PORT: String(typeof address === 'object' ? (address?.port ?? 0) : 0),
    SOCKET: path,
    ABSTRACT: abstract,
  };

  const profileOf = async (
    engine: SandboxEngine,
    extra: Readonly<Record<string, string>>,
  ): Promise<SandboxProfile> => ({
    home: folder,
    workspace,
    cwd: workspace,
    owner: true,
    network: false,
    readRoots: [process.execPath, engine.program],
    hidden: [],
    protectedPaths: await ensureProtectedPlaces(workspace, []),
    environment: { ...environment, BWRAP: engine.program, ...extra },
  });

  const test = async (engine: SandboxEngine, signal: AbortSignal): Promise<TestOutcome> => {
    const victim = spawn('/bin/sh', ['-c', 'read -r line', mark], { stdio: ['pipe', 'ignore', 'ignore'] });
    try {
      const profile = await profileOf(engine, { VICTIM: String(victim.pid ?? 0) });
      const inside = launch(['/bin/sh', 'escape.sh'], profile, engine);
      const lasting = launch(['/bin/sh', '-c', 'sleep 6 & echo ready; wait'], profile, engine);
      const [run, survived] = await Promise.all([
        runInside({ ...inside, env: { ...inside.env, SANDBOX_CANARY: mark } }, signal),
        outlivesParent(lasting, clock, signal),
      ]);
      const lines = run.output.split('\n');
      if (!lines.includes('end')) return { kind: 'failed', said: run.errors.trim() || run.output.trim() };
      const reported = (word: string): Attempt[] => names.filter((name) => lines.includes(`${word} ${name}`));
      const open = new Set(reported('open'));
      const held = new Set(reported('held'));
      const judge = (name: Attempt, escaped: boolean | undefined): void => {
        if (escaped === true) open.add(name);
        else if (escaped === false) held.add(name);
      };
      for (const [i, name] of (['loopback', 'abstract-socket', 'unix-socket'] as const).entries()) {
        if (servers[i]?.reached() === true) open.add(name);
      }
      judge('write-outside', await exists(join(folder, 'written')));
      judge('protected-places', !(await untouched(workspace)));
      judge('kill-host-process', victim.exitCode !== null || victim.signalCode !== null);
      judge('survive-parent', survived);
      return {
        kind: 'tried',
        open: names.filter((name) => open.has(name)),
        unknown: names.filter((name) => !open.has(name) && !held.has(name)),
        works: await exists(join(workspace, 'works')),
      };
    } finally {
      victim.kill('SIGKILL');
    }
  };

  return {
    test,
    async [Symbol.asyncDispose]() {
      for (const { server } of servers) server.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

const names = Object.keys(ATTEMPTS) as readonly Attempt[];

interface Listener {
  readonly server: Server;
  readonly reached: () => boolean;
}

async function listen(where: { host: string; port: number } | { path: string }): Promise<Listener> {
  let reached = false;
  const server = createServer((socket) => {
    reached = true;
    socket.destroy();
  });
  server.unref();
  server.listen(where);
  await once(server, 'listening');
  return { server, reached: () => reached };
}

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    (error: unknown) => errorCode(error) !== 'ENOENT',
  );
}

async function untouched(workspace: string): Promise<boolean> {
  const texts = {
    'SOUL.md': CONTENT,
    'AGENTS.md': '',
    'USER.md': '',
    'TOOLS.md': '',
    'HEARTBEAT.md': '',
    '.git/config': CONTENT,
  };
  try {
    for (const [name, text] of Object.entries(texts)) {
      if ((await readFile(join(workspace, name), 'utf8')) !== text) return false;
    }
    for (const name of ['memory', 'skills', '.git/hooks']) {
      if ((await readdir(join(workspace, name))).length > 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}

interface InsideRun {
  readonly output: string;
  readonly errors: string;
}

async function runInside({ file, args, env }: SandboxedCommand, signal: AbortSignal): Promise<InsideRun> {
  const child = spawn(file, args, { env, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { output: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.output = (texts.output + chunk.toString()).slice(0, OUTPUT_CHARS)));
  child.stderr.on('data', (chunk: Buffer) => (texts.errors = (texts.errors + chunk.toString()).slice(0, OUTPUT_CHARS)));
  try {
    await raceAbort(once(child, 'close'), signal);
    return texts;
  } finally {
    endGroup(child);
  }
}

/**
 * Kills the parent of a sandbox and looks whether what ran in it still holds its output; undefined when it never ran.
 */
async function outlivesParent(
  { file, args, env }: SandboxedCommand,
  clock: Clock,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const parent = spawn('/bin/sh', ['-c', '"$@" & wait', 'sh', file, ...args], {
    env,
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [first] = await raceAbort(Promise.race([once(parent.stdout, 'data'), once(parent, 'close')]), signal);
    if (!(first instanceof Buffer)) return undefined;
    const closed = once(parent.stdout, 'close');
    parent.kill('SIGKILL');
    using limit = deadline(clock, ORPHAN_MS, 'ending with the parent');
    return await raceAbort(closed, AbortSignal.any([signal, limit.signal])).then(
      () => false,
      () => true,
    );
  } finally {
    endGroup(parent);
    parent.stdout.destroy();
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it ended.
  }
}
