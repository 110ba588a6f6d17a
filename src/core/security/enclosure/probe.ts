import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDirectory } from '../../storage/files.ts';
import { deadline, DeadlineError, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Random } from '../../util/random.ts';
import { oneLine } from '../../util/text.ts';
import { isExecutable, type SandboxEngine, type SandboxLimits } from './enclosure.ts';
import { makeLimitGroup, removeLimitGroup, type CgroupPaths } from './limit-group.ts';
import { testSandbox, type TestOutcome } from './self-test.ts';

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

/** Who a program inside believes to be. */
const USERS = {
  passwd: 'root:x:0:0:root:/:/bin/sh\nassistant:x:1000:1000::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n',
  group: 'root:x:0:\nassistant:x:1000:\nnogroup:x:65534:\n',
  empty: '',
};

/** What not every machine lets bubblewrap do, and what follows where it may not. */
const FEATURES = [
  [['--hostname', 'sandbox'], 'Commands see the name of this machine, because it does not let them have another.'],
  [['--disable-userns'], 'Commands can create namespaces of their own; bubblewrap 0.8 could forbid that.'],
  [['--proc', '/proc'], 'Commands see no /proc, because this machine masks its own.'],
] as const;
/** Each combination of them, the one with all first. */
const VARIANTS = Array.from({ length: 8 }, (_, without) =>
  FEATURES.filter((_feature, n) => (without & (4 >> n)) === 0),
);

/** What held in this process, by what it was tried with: a machine is tried once, however many assistants run on it. */
const held = new Map<string, (typeof VARIANTS)[number]>();

/** Finds out whether commands can be enclosed on this machine. What gets through, or can't be tried, means no. Never rejects. */
export async function probeSandbox(options: ProbeOptions): Promise<SandboxProbe> {
  const { folder, clock, random, timeoutMs = TIMEOUT_MS } = options;
  if (process.platform !== 'linux') return no('The sandbox needs Linux.');
  const program = options.program ?? PROGRAMS.find(isExecutable);
  if (program === undefined || !isExecutable(program)) {
    const remedy = `${INSTALLERS.find(([path]) => isExecutable(path))?.[1] ?? 'install the package'} bubblewrap`;
    return { ...no(`bubblewrap is not installed${program === undefined ? '' : ` at ${program}`}.`), remedy };
  }
  using limit = deadline(clock, timeoutMs, 'the self-test');
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const mark = Buffer.from(random.bytes(12)).toString('hex');
  let group: string | null = null;
  try {
    await ensureDirectory(folder);
    // What a test left that a crash cut short.
    const left = (await readdir(folder)).filter((name) => name.startsWith(WORLD));
    for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
    for (const [name, text] of Object.entries(USERS)) await writeFile(join(folder, name), text);
    group = await makeLimitGroup(limits, mark.slice(0, 8), options.cgroups);
    const { ino, size, mtimeMs } = await stat(program);
    const key = JSON.stringify([program, ino, size, mtimeMs, process.getuid?.(), limits, group !== null]);
    const engineWith = (features: (typeof VARIANTS)[number]): SandboxEngine => ({
      program,
      features: features.flatMap(([words]) => words),
      folder,
      group,
      limits,
    });
    const world = { folder: join(folder, WORLD + mark), mark, clock, signal: limit.signal };
    let problem: string | undefined;
    for (const variant of held.has(key) ? [] : VARIANTS) {
      const outcome: TestOutcome = await testSandbox({ ...engineWith(variant), limits: roomy(limits) }, world);
      // What is told of a machine where nothing runs is what the best variant said.
      if (outcome.runs || problem === undefined) ({ problem } = outcome);
      if (outcome.runs && problem === undefined) held.set(key, variant);
      if (outcome.runs) break;
    }
    const features = held.get(key);
    if (features !== undefined) {
      const lacks = FEATURES.filter((feature) => !features.includes(feature)).map(([, note]) => note);
      return { available: true, notes: [...limitNotes(limits, group), ...lacks], engine: engineWith(features) };
    }
    if (group !== null) await removeLimitGroup(group);
    return no(problem ?? 'The sandbox could not be tested.');
  } catch (error) {
    if (group !== null) await removeLimitGroup(group);
    if (error instanceof DeadlineError) {
      return { ...no(`The self-test of the sandbox did not end within ${timeoutMs / 1000} s.`), late: true };
    }
    return no(`The self-test of the sandbox could not be run: ${oneLine(errorMessage(error), 200)}.`);
  }
}

/** The limits of the test: Node needs more than a small limit for commands may allow. */
function roomy(limits: SandboxLimits): SandboxLimits {
  const { processes, memoryBytes } = DEFAULT_LIMITS;
  return {
    ...limits,
    processes: Math.max(limits.processes, processes),
    memoryBytes: Math.max(limits.memoryBytes, memoryBytes),
  };
}

function limitNotes({ memoryBytes }: SandboxLimits, group: string | null): readonly string[] {
  if (group !== null) return [];
  const gibibytes = Math.round((memoryBytes / 1024 ** 3) * 10) / 10;
  const note = `Memory is limited to ${gibibytes} GiB for each process of a command, not for all together.`;
  return process.getuid?.() === 0
    ? [
        note,
        'The number of processes is only looked at from time to time: a limit needs a writable control group, or an assistant that does not run as root.',
      ]
    : [note];
}

function no(reason: string): Extract<SandboxProbe, { readonly available: false }> {
  return { available: false, reason };
}
