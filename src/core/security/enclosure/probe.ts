import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ensureDirectory } from '../../storage/files.ts';
import { deadline, DeadlineError, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Random } from '../../util/random.ts';
import { oneLine } from '../../util/text.ts';
import { FILTER, sandboxArguments } from './arguments.ts';
import { callFilter } from './call-filter.ts';
import { isExecutable, type SandboxEngine, type SandboxLimits } from './enclosure.ts';
import { makeLimitGroup, type CgroupPaths } from './limit-group.ts';
import { send } from './processes.ts';

export interface ProbeOptions {
  /** The sandbox's own folder in the assistant's home; made when missing, never visible to commands. */
  readonly folder: string;
  /** Where bwrap is. @default the first of the usual places */
  readonly program?: string;
  readonly limits?: Partial<SandboxLimits>;
  readonly cgroups?: CgroupPaths;
  readonly clock: Clock;
  readonly random: Random;
  /** For the whole test; a busy machine takes long. @default 15 s */
  readonly timeoutMs?: number;
}

export type SandboxProbe =
  | {
      readonly available: true;
      /** What could not be had, a sentence each. */
      readonly notes: readonly string[];
      readonly engine: SandboxEngine;
    }
  | {
      readonly available: false;
      /** One sentence. */
      readonly reason: string;
      /** What would give one, as a command where there is one; without a full stop. */
      readonly remedy?: string;
      /** The test did not end in time: another one may. */
      readonly late?: true;
    };

const DEFAULT_LIMITS: SandboxLimits = {
  processes: 512,
  memoryBytes: 2 * 1024 ** 3,
  fileBytes: 4 * 1024 ** 3,
  openFiles: 4096,
  temporaryBytes: 256 * 1024 ** 2,
};

const PROGRAMS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap', '/run/current-system/sw/bin/bwrap'];
/** How packages are installed here: the program that does it, and what is typed. */
const INSTALLERS = [
  ['/usr/bin/apt', 'apt install'],
  ['/usr/bin/dnf', 'dnf install'],
  ['/usr/bin/pacman', 'pacman -S'],
  ['/sbin/apk', 'apk add'],
  ['/usr/bin/zypper', 'zypper install'],
] as const;
const TIMEOUT_MS = 15_000;
const WORLD = 'test-';

/** The shell command that installs a system package on this machine. */
export function packageRemedy(name: string): string {
  return `${INSTALLERS.find(([path]) => isExecutable(path))?.[1] ?? 'install the package'} ${name}`;
}

/** Who a program inside believes to be. */
const USERS = {
  passwd: 'root:x:0:0:root:/:/bin/sh\nassistant:x:1000:1000::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n',
  group: 'root:x:0:\nassistant:x:1000:\nnogroup:x:65534:\n',
  empty: '',
};

/** What not every machine lets bubblewrap do, and what follows where it may not. */
const FEATURES = [
  [['--hostname', 'sandbox'], 'Commands see the name of this machine, because it does not let them have another.'],
  [['--disable-userns'], 'Namespaces are forbidden by the filter of system calls alone.'],
  [['--proc', '/proc'], 'Commands see no /proc, because this machine masks its own.'],
] as const;
/** Each combination of them, the one with all first. */
const VARIANTS = Array.from({ length: 8 }, (_, without) =>
  FEATURES.filter((_feature, n) => (without & (4 >> n)) === 0),
);

/** What dies with its parent is gone in milliseconds, on a machine that has time for it. */
const ORPHAN_MS = 5_000;
const REASON_CHARS = 200;

/** Stands for the assistant: the parent of a sandbox. Arguments: the filter, then the sandbox. */
const PARENT = 'exec 5< "$1"; shift; "$@" 3</dev/null & wait';
/** Tries what must not work, and goes on until its parent ends. Arguments: the folder outside, and a port of the machine. */
const INSIDE = `: > works
: > "$1/written"
echo "read $(< "$1/canary")"
(: < "/dev/tcp/127.0.0.1/$2") && echo connected
echo ready
sleep 20`;

/** A new folder, which is gone afterwards, and a name that nobody knows. */
interface TestWorld extends Pick<ProbeOptions, 'folder' | 'clock'> {
  readonly mark: string;
  readonly signal: AbortSignal;
}

interface TestOutcome {
  /** A program ran in it. */
  readonly runs: boolean;
  /** Why it isn't good enough; undefined when it is. */
  readonly problem: string | undefined;
}

/** What held in this process, by the program: it is tried once, however many assistants run in it. */
const held = new Map<string, (typeof VARIANTS)[number]>();

/** Finds out whether commands can be enclosed on this machine. What gets through, or can't be tried, means no. Never rejects. */
export async function probeSandbox(options: ProbeOptions): Promise<SandboxProbe> {
  const { folder, clock, random, timeoutMs = TIMEOUT_MS } = options;
  if (process.platform !== 'linux') return no('The sandbox needs Linux.');
  const program = options.program ?? PROGRAMS.find(isExecutable);
  if (program === undefined || !isExecutable(program)) {
    const missing = no(`bubblewrap is not installed${program === undefined ? '' : ` at ${program}`}.`);
    return { ...missing, remedy: packageRemedy('bubblewrap') };
  }
  using limit = deadline(clock, timeoutMs, 'the self-test');
  const mark = Buffer.from(random.bytes(12)).toString('hex');
  const world = { folder: join(folder, WORLD + mark), mark, clock, signal: limit.signal };
  try {
    await ensureDirectory(folder);
    // What a test left that a crash cut short.
    const left = (await readdir(folder)).filter((name) => name.startsWith(WORLD));
    for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
    for (const [name, text] of Object.entries(USERS)) await writeFile(join(folder, name), text);
    const { ino, size, mtimeMs } = await stat(program);
    const key = [program, ino, size, mtimeMs].join(' ');
    // Without the limits of commands, of which a small one may be too small for Node, which tries the network.
    const filter = callFilter(process.arch);
    if (filter !== undefined) await writeFile(join(folder, FILTER), filter);
    const base = { program, folder, hasFilter: filter !== undefined, limits: DEFAULT_LIMITS, group: null };
    let problem = 'nothing was tried';
    for (const variant of held.has(key) ? [] : VARIANTS) {
      // One of the two forbids namespaces.
      if (filter === undefined && !variant.includes(FEATURES[1])) continue;
      const outcome = await testSandbox({ ...base, features: wordsOf(variant) }, world);
      if (outcome.problem === undefined) held.set(key, variant);
      // What is told of a machine where nothing runs is what the best variant said.
      else if (outcome.runs || variant === VARIANTS[0]) ({ problem } = outcome);
      if (outcome.runs) break;
    }
    const features = held.get(key);
    if (features === undefined) return no(problem);
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const group = await makeLimitGroup(limits, mark.slice(0, 8), options.cgroups);
    const lacks: string[] = FEATURES.filter((feature) => !features.includes(feature)).map(([, note]) => note);
    if (filter === undefined) lacks.push(`System calls are not filtered on this processor (${process.arch}).`);
    const notes = [...(group === null ? notesWithoutGroup(limits) : []), ...lacks];
    return { available: true, notes, engine: { ...base, features: wordsOf(features), limits, group } };
  } catch (error) {
    if (error instanceof DeadlineError) {
      return { ...no(`The self-test of the sandbox did not end within ${timeoutMs / 1000} s.`), late: true };
    }
    return no(`The self-test of the sandbox could not be run: ${oneLine(errorMessage(error), 200)}.`);
  }
}

/**
 * Tries one way to call bubblewrap: a program runs, can't read or write outside, has no network, and ends with its parent.
 * Rejects with the signal's reason.
 */
async function testSandbox(engine: SandboxEngine, { folder, mark, clock, signal }: TestWorld): Promise<TestOutcome> {
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

function wordsOf(features: (typeof VARIANTS)[number]): readonly string[] {
  return features.flatMap(([words]) => words);
}

function notesWithoutGroup({ memoryBytes }: SandboxLimits): readonly string[] {
  const gibibytes = Math.round((memoryBytes / 1024 ** 3) * 10) / 10;
  const note = `Memory is limited to ${gibibytes} GiB for each process of a command, not for all together.`;
  if (process.getuid?.() !== 0) return [note];
  return [
    note,
    'The number of processes is only looked at from time to time: a limit needs a writable control group, or an assistant that does not run as root.',
  ];
}

function no(reason: string): Extract<SandboxProbe, { readonly available: false }> {
  return { available: false, reason };
}
