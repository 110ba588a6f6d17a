import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { oneLine } from '../../util/text.ts';
import { FILTER, sandboxArguments } from './arguments.ts';
import type { SandboxEngine } from './enclosure.ts';
import { send } from './processes.ts';

/** What dies with its parent is gone in milliseconds. */
const ORPHAN_MS = 1_000;
const REASON_CHARS = 200;

/** Stands for the assistant: the parent of a sandbox. Arguments: the filter, then the sandbox. */
const PARENT = 'exec 5< "$1"; shift; "$@" 3</dev/null & wait';
/** Tries what must not work, and goes on until its parent ends. Arguments: the folder outside, and a port of the machine. */
const INSIDE = `: > works
: > "$1/written"
echo "read $(< "$1/canary")"
(: < "/dev/tcp/127.0.0.1/$2") && echo connected
echo ready
sleep 6`;

/** What a test needs: a new folder of its own, which is gone afterwards, and a name that nobody knows. */
export interface TestWorld {
  readonly folder: string;
  readonly mark: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface TestOutcome {
  /** A program ran in it. */
  readonly runs: boolean;
  /** Why it isn't good enough; undefined when it is. */
  readonly problem: string | undefined;
}

/**
 * Tries one way to call bubblewrap: a program runs, can't read or write outside, has no network, and ends with its parent.
 * Rejects with the signal's reason.
 */
export async function testSandbox(engine: SandboxEngine, world: TestWorld): Promise<TestOutcome> {
  const { folder, mark, clock, signal } = world;
  const workspace = join(folder, 'workspace');
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'canary'), mark, { mode: 0o600 });
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
  // A server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo;
  const enclosure = { engine, mounts: [{ path: workspace, as: 'write' } as const], network: false };
  const inside = ['/bin/bash', '--norc', '-c', INSIDE, 'inside', folder, `${port}`];
  const filter = engine.hasFilter ? join(engine.folder, FILTER) : '/dev/null';
  const sandbox = [...sandboxArguments(engine, enclosure, workspace), ...inside];
  const parent = spawn('/bin/sh', ['-c', PARENT, 'sh', filter, ...sandbox], {
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    let [output, errors] = ['', ''];
    const ready = Promise.withResolvers<void>();
    parent.stderr.on('data', (bytes: Buffer) => (errors += bytes.toString()));
    parent.stdout.on('data', (bytes: Buffer) => {
      output += bytes.toString();
      if (output.endsWith('ready\n')) ready.resolve();
    });
    const closed = once(parent, 'close');
    await raceAbort(Promise.race([ready.promise, closed]), signal);
    if (!output.endsWith('ready\n')) return cannotStart(errors);
    if (existsSync(join(folder, 'written'))) return doesNotHold('write a file outside the workspace');
    if (output.includes(mark)) return doesNotHold('read a file outside the workspace');
    if (output.includes('connected')) return doesNotHold('connect to a port of the machine');
    parent.kill('SIGKILL');
    using limit = deadline(clock, ORPHAN_MS, 'ending with the parent');
    const isOver = await raceAbort(closed, AbortSignal.any([signal, limit.signal])).catch(() => false);
    if (isOver === false) return doesNotHold('go on after the assistant ended');
    const problem = 'A command inside the sandbox cannot write to the workspace.';
    return { runs: true, problem: existsSync(join(workspace, 'works')) ? undefined : problem };
  } finally {
    send(-(parent.pid ?? 0), 'SIGKILL');
    for (const stream of [parent.stdout, parent.stderr]) stream.destroy();
    server.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function cannotStart(errors: string): TestOutcome {
  const said = oneLine(errors.replaceAll(/^bwrap: /gmu, '').trim(), REASON_CHARS);
  const hint = /permission|permitted|No space|namespace/u.test(said)
    ? ' Processes of this user may not create namespaces here; allow them (user namespaces, or CAP_SYS_ADMIN in a container) to use it.'
    : '';
  const why = said === '' ? 'it said nothing' : said;
  return { runs: false, problem: `bubblewrap cannot start a sandbox here (${why}).${hint}` };
}

function doesNotHold(what: string): TestOutcome {
  return { runs: true, problem: `The sandbox does not hold: a command inside could ${what}.` };
}
