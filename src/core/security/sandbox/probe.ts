import { accessSync, constants } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDirectory, replaceDurable } from '../../storage/files.ts';
import { deadline, DeadlineError, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Random } from '../../util/random.ts';
import { oneLine } from '../../util/text.ts';
import { ATTEMPTS } from './escape-script.ts';
import { callFilter } from './filter.ts';
import { CGROUP_PATHS, makeLimitGroups, removeLimitGroups, type CgroupPaths, type LimitGroups } from './cgroups.ts';
import { DEFAULT_LIMITS, type SandboxEngine, type SandboxLimits } from './profile.ts';
import { buildEscapeWorld, type TestOutcome } from './self-test.ts';

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
  /** What held when it was tried before, by what it was tried with; such a test is not run again. @default nothing */
  readonly held?: Map<string, Variant>;
}

export type SandboxProbe =
  | {
      readonly available: true;
      /** What could not be had, a sentence each. */
      readonly notes: readonly string[];
      readonly engine: SandboxEngine;
      readonly groups: LimitGroups;
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
const REASON_CHARS = 200;
const WORLD = 'test-';

/** Best first: a host name that says nothing, an own /proc, and bwrap's own lock on namespaces beside the filter. */
const VARIANTS = [true, false].flatMap((hostname) =>
  [true, false].flatMap((disableUserns) =>
    (['new', 'empty'] as const).map((proc) => ({ proc, disableUserns, hostname })),
  ),
);

/** How bwrap is called. */
export type Variant = (typeof VARIANTS)[number];

/**
 * Finds out whether commands can be enclosed on this machine, by trying to escape from the very arguments that commands
 * will run with. Anything that gets through, or that cannot be tried, means no. Never rejects.
 */
export async function probeSandbox(options: ProbeOptions): Promise<SandboxProbe> {
  const { folder, clock, random } = options;
  if (process.platform !== 'linux') return no('The sandbox needs Linux.');
  const program = options.program === undefined ? PROGRAMS.find(isExecutable) : options.program;
  if (program === undefined || !isExecutable(program)) {
    return {
      ...no(`bubblewrap is not installed${program === undefined ? '' : ` at ${program}`}.`),
      remedy: `${INSTALLERS.find(([path]) => isExecutable(path))?.[1] ?? 'install the package'} bubblewrap`,
    };
  }
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  using limit = deadline(clock, timeoutMs, 'the self-test');
  const limits: SandboxLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const tag = Buffer.from(random.bytes(4)).toString('hex');
  let groups: LimitGroups | undefined;
  try {
    groups = await makeLimitGroups(limits, tag, options.cgroups ?? CGROUP_PATHS);
    await ensureDirectory(folder);
    await removeLeftOver(folder);
    const filter = await writeFilter(folder);
    const base = { program, filter, groups: groups.folders, limits: roomy(limits) };
    const { held = new Map<string, Variant>() } = options;
    const key = await whatIsTried(base, groups);
    let variant = held.get(key);
    if (variant === undefined) {
      const tested = await firstThatRuns(base, join(folder, WORLD + tag), options, limit.signal);
      const problem = judge(tested.outcome);
      if (problem !== undefined) {
        await removeLimitGroups(groups);
        return no(problem);
      }
      variant = tested.variant;
      held.set(key, variant);
    }
    const engine = { ...base, ...variant, limits };
    return { available: true, notes: notesOn(engine, groups), engine, groups };
  } catch (error) {
    if (groups !== undefined) await removeLimitGroups(groups);
    if (error instanceof DeadlineError)
      return { ...no(`The self-test of the sandbox did not end within ${timeoutMs / 1000} s.`), late: true };
    return no(`The self-test of the sandbox could not be run: ${oneLine(errorMessage(error), REASON_CHARS)}.`);
  }
}

interface Tested {
  readonly outcome: TestOutcome;
  readonly variant: Variant;
}

/** This very program, as it stands on the disk, with these limits. */
async function whatIsTried({ program, limits }: Pick<SandboxEngine, 'program' | 'limits'>, groups: LimitGroups) {
  const { ino, size, mtimeMs } = await stat(program);
  const { countsMemory, countsProcesses } = groups;
  return JSON.stringify([program, ino, size, mtimeMs, process.getuid?.(), limits, countsMemory, countsProcesses]);
}

async function firstThatRuns(
  base: Pick<SandboxEngine, 'program' | 'filter' | 'groups' | 'limits'>,
  folder: string,
  { clock, random }: ProbeOptions,
  signal: AbortSignal,
): Promise<Tested> {
  await using world = await buildEscapeWorld(folder, clock, random);
  let first: Tested | undefined;
  for (const variant of VARIANTS) {
    const outcome = await world.test({ ...base, ...variant }, signal);
    first ??= { outcome, variant };
    if (outcome.kind === 'tried') return { outcome, variant };
  }
  if (first === undefined) throw new Error('there is nothing to try');
  return first;
}

/** Worlds of a test that a crash cut short. */
async function removeLeftOver(folder: string): Promise<void> {
  const names = await readdir(folder);
  for (const name of names.filter((name) => name.startsWith(WORLD))) {
    await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** The limits of the probe: Node, which tests the sockets, needs more than a small limit for commands may allow. */
function roomy(limits: SandboxLimits): SandboxLimits {
  const { processes, memoryBytes } = DEFAULT_LIMITS;
  return {
    ...limits,
    processes: Math.max(limits.processes, processes),
    memoryBytes: Math.max(limits.memoryBytes, memoryBytes),
  };
}

async function writeFilter(folder: string): Promise<string | undefined> {
  const program = callFilter(process.arch);
  if (program === undefined) return undefined;
  const path = join(folder, 'calls.bpf');
  await replaceDurable(path, program);
  return path;
}

/** Why the sandbox is not good enough; undefined when it is. */
function judge(outcome: TestOutcome): string | undefined {
  if (outcome.kind === 'failed') {
    const said = oneLine(outcome.said.replaceAll(/^bwrap: /gmu, ''), REASON_CHARS);
    const hint = /permission|permitted|No space|namespace/u.test(said)
      ? ' Processes of this user may not create namespaces here; allow them (user namespaces, or CAP_SYS_ADMIN in a container) to use it.'
      : '';
    return `bubblewrap cannot start a sandbox here (${said === '' ? 'it said nothing' : said}).${hint}`;
  }
  const [open] = outcome.open;
  if (open !== undefined) return `The sandbox does not hold: a command inside could ${ATTEMPTS[open]}.`;
  const [unknown] = outcome.unknown;
  if (unknown !== undefined)
    return `It could not be checked whether a command inside the sandbox could ${ATTEMPTS[unknown]}.`;
  return outcome.works ? undefined : 'A command inside the sandbox cannot write to the workspace.';
}

function notesOn({ proc, filter, disableUserns, hostname, limits }: SandboxEngine, groups: LimitGroups): string[] {
  const isRoot = process.getuid?.() === 0;
  const gibibytes = Math.round((limits.memoryBytes / 1024 ** 3) * 10) / 10;
  return [
    ...(groups.countsMemory
      ? []
      : [`Memory is limited to ${gibibytes} GiB for each process of a command, not for all together.`]),
    ...(groups.countsProcesses || !isRoot
      ? []
      : [
          'The number of processes is not limited: that needs a writable control group, or an assistant that does not run as root.',
        ]),
    ...(proc === 'new' ? [] : ['Commands see no /proc, because this machine masks its own.']),
    ...(disableUserns ? [] : ['Namespaces are forbidden by the filter of system calls alone.']),
    ...(hostname ? [] : ['Commands see the name of this machine, because it does not let them have another.']),
    ...(filter === undefined ? [`System calls are not filtered on this processor (${process.arch}).`] : []),
  ];
}

function no(reason: string): Extract<SandboxProbe, { readonly available: false }> {
  return { available: false, reason };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
