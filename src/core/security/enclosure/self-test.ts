import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { oneLine } from '../../util/text.ts';
import { sandboxArguments } from './arguments.ts';
import { runEnclosed, type Enclosure, type SandboxEngine } from './enclosure.ts';
import { send } from './processes.ts';

/** What dies with its parent is gone in milliseconds. */
const ORPHAN_MS = 1_000;
const REASON_CHARS = 200;

/** Runs inside under Node. Arguments: the folder outside, a port and an abstract socket of the machine. */
const INSIDE = `
const { readFileSync, writeFileSync } = require('node:fs');
const [outside, port, name] = process.argv.slice(1);
const attempt = (what) => { try { return what(); } catch { return ''; } };
attempt(() => writeFileSync('works', ''));
attempt(() => writeFileSync(outside + '/written', ''));
console.log('read ' + attempt(() => readFileSync(outside + '/canary', 'utf8')));
for (const where of [{ host: '127.0.0.1', port: Number(port) }, { path: '\\0' + name }])
  require('node:net').connect(where, function () { this.destroy(); }).on('error', () => {});
`;

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
  const { folder, mark, signal } = world;
  const workspace = join(folder, 'workspace');
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'canary'), mark, { mode: 0o600 });
  const enclosure: Enclosure = {
    engine,
    mounts: [
      { path: workspace, as: 'write' },
      { path: process.execPath, as: 'read' },
    ],
    network: false,
  };
  let isReached = false;
  const listening = await Promise.all(
    [{ host: '127.0.0.1', port: 0 }, { path: `\0${mark}` }].map((where) => listen(where, () => (isReached = true))),
  );
  try {
    const address = listening[0]?.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const command = [process.execPath, '-e', INSIDE, folder, String(port), mark];
    const run = runEnclosed({ command, cwd: workspace, environment: {} }, { ...enclosure, clock: world.clock });
    try {
      const [output, errors, outlives] = await raceAbort(
        Promise.all([text(run.stdout), text(run.stderr), outlivesParent(enclosure, workspace, world), run.exit]),
        signal,
      );
      if (!output.startsWith('read ')) return cannotStart(errors);
      if (existsSync(join(folder, 'written'))) return doesNotHold('write a file outside the workspace');
      if (output.includes(mark)) return doesNotHold('read a file outside the workspace');
      if (isReached) return doesNotHold('connect to a port of the machine');
      if (outlives) return doesNotHold('go on after the assistant ended');
      const problem = 'A command inside the sandbox cannot write to the workspace.';
      return { runs: true, problem: existsSync(join(workspace, 'works')) ? undefined : problem };
    } finally {
      await run.end();
    }
  } finally {
    for (const server of listening) server.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function listen(where: { host: string; port: number } | { path: string }, onReach: () => void): Promise<Server> {
  const server = createServer((socket) => {
    onReach();
    socket.destroy();
  });
  server.unref();
  server.listen(where);
  await once(server, 'listening');
  return server;
}

/** Kills the parent of a sandbox and looks whether what ran in it still holds its output. */
async function outlivesParent(
  enclosure: Enclosure,
  cwd: string,
  { clock, signal }: Pick<TestWorld, 'clock' | 'signal'>,
): Promise<boolean> {
  const inside = ['/bin/sh', '-c', 'sleep 6 & echo ready; wait'];
  const sandbox = enclosure.engine === null ? [] : sandboxArguments(enclosure.engine, enclosure, cwd);
  const parent = spawn('/bin/sh', ['-c', '"$@" 3</dev/null & wait', 'sh', ...sandbox, ...inside], {
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await raceAbort(Promise.race([once(parent.stdout, 'data'), once(parent, 'close')]), signal);
    const closed = once(parent.stdout, 'close');
    parent.kill('SIGKILL');
    using limit = deadline(clock, ORPHAN_MS, 'ending with the parent');
    return await raceAbort(closed, AbortSignal.any([signal, limit.signal])).then(
      () => false,
      () => true,
    );
  } finally {
    send(-(parent.pid ?? 0), 'SIGKILL');
    parent.stdout.destroy();
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
