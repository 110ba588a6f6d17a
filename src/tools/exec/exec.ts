import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as z from 'zod';
import { seesPrivate, weakest } from '../../security/access/access.ts';
import { guardCommand, type CommandDecision } from '../../security/commands/guard.ts';
import { readHostList } from '../../security/fetch/host-list.ts';
import { within } from '../../security/paths/rules.ts';
import type { Sandbox } from '../../security/sandbox/sandbox.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import { oneLine, sentences } from '../../util/text.ts';
import { CHANGED } from '../registry/ask-about.ts';
import type { BackgroundProcesses } from './background/background-processes.ts';
import { startInBackground } from './background/start.ts';
import { askToPutBack, whileWatched } from './git.ts';
import { commandResultOf } from './result.ts';
import { runCommand, type CommandOutcome } from './run.ts';
import { shellCall, type ProgramCall } from './shell.ts';
import {
  isListed,
  profileOf,
  repositoryOf,
  rememberableCommandOf,
  type CommandProfile,
  type RememberableCommand,
} from './remembered-commands.ts';
import { bitsOfCommand, type Reach } from './taint.ts';
import { DEFAULT_COMMAND_LIMITS, type CommandLimits } from './limit-watch.ts';
import type { FileOrigins } from '../files/taint.ts';
import {
  defineTool,
  type ApprovalRequest,
  type DeclaredAction,
  type Tool,
  type ToolContext,
  type ToolDecision,
  type ToolResult,
} from '../tool.ts';

export interface ExecOptions {
  /** `auto` asks for every command where there is no sandbox, and for those that want to leave it. */
  readonly mode: 'off' | 'ask' | 'auto' | 'full';
  /** For commands that do not say; 600 at most. */
  readonly timeoutSeconds: number;
  /** What encloses commands; null: nothing does. */
  readonly sandbox: Sandbox | null;
  /** Whether enclosed commands reach the network without asking. */
  readonly network: boolean;
  /** Commands at once; others wait. */
  readonly maxConcurrent: number;
  /** Absolute; commands run in it or below it, and it is the HOME of enclosed ones. */
  readonly workspace: string;
  /** All that commands see of the environment; of HOME and PATH those that are not enclosed. */
  readonly environment: Readonly<Record<string, string>>;
  /** The assistant's home; commands that name it are asked about where nothing encloses them. @default not known */
  readonly home?: string;
  /** Hosts that commands may name though they are private, as in `tools.web.allowHosts`. @default none */
  readonly allowHosts?: readonly string[];
  /** Exact commands that run without a question, as in `tools.exec.allowCommands`. @default none */
  readonly allowCommands?: readonly string[];
  /** Whether a person allowed the command with this hash for good. @default none */
  readonly isRemembered?: (hash: string) => boolean;
  /** Which files strangers had a part in. @default nothing is known of that */
  readonly origins?: FileOrigins | undefined;
  /** What ends a command early. @default see `DEFAULT_COMMAND_LIMITS` */
  readonly limits?: Partial<CommandLimits>;
  /** Holds what goes on by itself. @default nothing can */
  readonly background?: Pick<BackgroundProcesses, 'start' | 'seen' | 'kill'> | undefined;
  readonly clock: Clock;
}

const LONGEST_SECONDS = 600;
const LONGEST_BACKGROUND_SECONDS = 86_400;
/** Room to end a command that ran into its own limit. */
const TOOL_TIMEOUT_MS = (LONGEST_SECONDS + 5) * 1000;
const SLOW_MS = 5_000;

/** `seconds`: the limit of a command that names none. */
function parametersFor(seconds: number) {
  return z.object({
    command: z.string().min(1).describe('Command line for bash, e.g. git log --oneline | head -5.'),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe('Folder in the workspace to run it in, e.g. projects/site. Default: the workspace.'),
    network: z
      .boolean()
      .optional()
      .describe('True gives the sandbox the internet; the owner may be asked. Default: false.'),
    outside: z
      .boolean()
      .optional()
      .describe(
        'True runs it outside the sandbox, with the internet and all files, e.g. to install programs; the owner is asked. Default: false.',
      ),
    background: z
      .boolean()
      .optional()
      .describe(
        'True lets it run on after this call, for servers and long work. The result names its id for the process tool; its end starts a new turn of yours. Default: false.',
      ),
    timeoutSeconds: z
      .number()
      .positive()
      .max(LONGEST_BACKGROUND_SECONDS)
      .optional()
      .describe(
        `Seconds after which it is ended, at most ${LONGEST_SECONDS}, in the background ${LONGEST_BACKGROUND_SECONDS}. Default: ${seconds}, in the background ${LONGEST_BACKGROUND_SECONDS}.`,
      ),
  });
}

type Params = z.infer<ReturnType<typeof parametersFor>>;

/** Where enclosed commands find programs: only there is anything to be seen. */
const INSIDE_PATH = '/usr/local/bin:/usr/bin:/bin';

export function createExecTool(options: ExecOptions): Tool {
  const { mode, clock, workspace, environment, sandbox } = options;
  const slots = new Slots(options.maxConcurrent);
  const limits = { ...DEFAULT_COMMAND_LIMITS, ...options.limits };
  const opened = readHostList('allowHosts', options.allowHosts ?? []);

  /** Null: enclosed. Otherwise why nothing will enclose it. */
  const reasonToLeaveSandbox = async ({ outside }: Params): Promise<string | null> => {
    if (mode === 'full') return 'Nothing encloses commands in the mode full (tools.exec.mode).';
    if (sandbox === null)
      return 'The sandbox is switched off (tools.exec.sandbox), so each command needs your approval.';
    const probe = await sandbox.probe();
    if (!probe.available) {
      const { reason, remedy } = probe;
      const why = remedy === undefined ? reason : `To change that: ${remedy}`;
      return sentences('There is no sandbox, so each command needs your approval', why);
    }
    return outside === true ? 'The command is to run outside the sandbox, so it needs your approval.' : null;
  };

  /** Null: nobody has to be asked. */
  const whyAsk = async (params: Params): Promise<string | null> => {
    if (mode === 'full') return null;
    if (mode === 'ask') return 'Every command needs your approval (tools.exec.mode is ask).';
    const outside = await reasonToLeaveSandbox(params);
    if (outside !== null) return outside;
    return params.network === true && !options.network ? 'It wants to reach the network.' : null;
  };

  const reachOf = async (params: Params): Promise<Reach> => {
    if ((await reasonToLeaveSandbox(params)) !== null) return 'anywhere';
    return options.network || params.network === true ? 'network' : 'workspace';
  };

  const check = (command: string, reach: Reach, cwd = '.'): CommandDecision =>
    guardCommand(command, {
      reach,
      cwd: resolve(workspace, cwd),
      workspace,
      home: options.home,
      userHome: environment['HOME'],
      opened: (target) => opened.has(target),
    });

  /** Throws when its folder is gone. */
  const profile = async (params: Params, { skills }: ToolContext): Promise<CommandProfile> => {
    const place = await findFolder(workspace, params.cwd);
    if ('problem' in place) throw new AppError('exec-folder', place.problem);
    return await profileOf(params.command, {
      folder: place.folder,
      mode,
      enclosed: (await reasonToLeaveSandbox(params)) === null,
      network: options.network || params.network === true,
      environment: { ...environment, ...skills?.env },
      workspace,
    });
  };

  /** The command as it could be allowed for good. */
  const rememberable = async (params: Params, context: ToolContext): Promise<RememberableCommand | null> => {
    const found = await profile(params, context);
    const path = found.enclosed ? INSIDE_PATH : (environment['PATH'] ?? '');
    const { command, background = false } = params;
    return await rememberableCommandOf(command, found, { path, workspace, background });
  };

  /** Why a command needs no question; null: it does. */
  const whyRememberable = (exact: RememberableCommand): string | null => {
    const { allowCommands = [], isRemembered } = options;
    if (isListed(exact, allowCommands)) return 'tools.exec.allowCommands lists it';
    return exact.reads !== null && isRemembered?.(exact.hash) === true ? 'an owner allowed it for good' : null;
  };

  /** It may have waited for others to end. */
  const placeOf = async ({ cwd }: Params, context: ToolContext): Promise<{ readonly folder: string }> => {
    const place = await findFolder(workspace, cwd);
    if ('problem' in place) throw new AppError('exec-folder', place.problem);
    if ((await context.changed?.()) === true) throw new AppError('approval-changed', CHANGED);
    return place;
  };

  const programFor = async (params: Params, folder: string, context: ToolContext): Promise<ProgramCall> => {
    const env = { ...environment, ...context.skills?.env };
    const outside = await reasonToLeaveSandbox(params);
    if (outside !== null || sandbox === null) {
      return shellCall(params.command, { ...env, HOME: environment['HOME'] ?? workspace });
    }
    const wrapped = await sandbox.wrap({
      command: ['/bin/bash', '-c', params.command],
      cwd: folder,
      // Where others read along nothing shows what is the owner's alone.
      role: seesPrivate(context) ? 'owner' : weakest(context.role, 'trusted'),
      network: options.network || params.network === true,
      readRoots: context.readRoots ?? [],
      environment: { ...env, PATH: INSIDE_PATH, HOME: workspace },
    });
    return { ...wrapped, env: { ...wrapped.env, PATH: environment['PATH'] ?? INSIDE_PATH } };
  };

  const run = async (params: Params, context: ToolContext): Promise<ToolResult> => {
    const { command, cwd, timeoutSeconds } = params;
    const seconds = Math.min(timeoutSeconds ?? options.timeoutSeconds, LONGEST_SECONDS);
    const { signal } = context;
    const { origins, background } = options;
    const reach = await reachOf(params);
    const bits = await bitsOfCommand(command, reach, { origins, cwd: resolve(workspace, cwd ?? '.') });
    const mayWriteTheirs = bits.untrusted === true || context.taint.untrusted;
    const git = reach === 'anywhere' ? undefined : sandbox?.git;
    if (params.background === true && background !== undefined) {
      const { folder } = await placeOf(params, context);
      const program = await programFor(params, folder, context);
      const bounds = { ...limits, outputBytes: Infinity, seconds: timeoutSeconds ?? LONGEST_BACKGROUND_SECONDS };
      const asks = context.approved !== undefined;
      const inside = { cwd: folder, bounds, reach, asks, check: (text: string) => check(text, reach, cwd) };
      return await startInBackground({ command, program, bits, mayWriteTheirs, git, ...inside }, context, {
        processes: background,
        clock,
      });
    }
    const execute = (program: ProgramCall, folder: string): Promise<CommandOutcome> =>
      runCommand({
        program,
        cwd: folder,
        limits,
        timeoutMs: seconds * 1000,
        signal,
        clock,
      });
    const { outcome, undone } = await slots.run(async () => {
      const { folder } = await placeOf(params, context);
      const program = await programFor(params, folder, context);
      using _slow = clock.timer(SLOW_MS, () =>
        context.progress(oneLine(`still running ${escapeControlChars(command)}`, 80)),
      );
      const work = (): Promise<CommandOutcome> => execute(program, folder);
      const marked = (): Promise<CommandOutcome> =>
        mayWriteTheirs && origins !== undefined ? origins.during(work) : work();
      return await whileWatched(mayWriteTheirs ? git : undefined, marked);
    }, signal);
    const notes = await askToPutBack(undone, git, context);
    return { ...commandResultOf(command, outcome, { ...limits, seconds }, notes), ...bits };
  };

  return defineTool({
    name: 'exec',
    description:
      'Run a bash command on the machine of the owner; returns its output and exit code. For files use read_file, glob, grep and edit_file, but delete and move them here. Each call is a new shell without input, in a sandbox that has the workspace, which it may change, and system programs, but no internet. Without a sandbox the owner is asked first. Processes left running are stopped. A long output loses its middle: write it to a file.',
    parameters: parametersFor(Math.min(options.timeoutSeconds, LONGEST_SECONDS)),
    effect: 'effect',
    role: 'owner',
    timeoutMs: TOOL_TIMEOUT_MS,
    async decide(params, context): Promise<ToolDecision> {
      const { command, cwd } = params;
      if (mode === 'off') return deny('Running commands is switched off in the configuration (tools.exec.mode).');
      if (command.includes('\0')) return deny('A command cannot contain NUL characters.');
      if (params.background === true && options.background === undefined) {
        return deny('Nothing can be left running in the background here; run it without background: true.');
      }
      const guarded = check(command, await reachOf(params), cwd);
      if (guarded.decision === 'deny') return guarded;
      const place = await findFolder(workspace, cwd);
      if ('problem' in place) return deny(place.problem);
      const reasons = [guarded.decision === 'ask' ? guarded.reason : null, await whyAsk(params)];
      const reason = sentences(...reasons.filter((why) => why !== null));
      if (reason === '') return { decision: 'allow' };
      const ask = (why: string, always: Pick<ApprovalRequest, 'always'> = {}): ToolDecision => ({
        decision: 'ask',
        reason: why,
        request: { ...requestFor(params), reason: why, ...always },
      });
      // While strangers have a say nothing is allowed for good, and nothing that was counts.
      const exact = context.taint.untrusted ? null : await rememberable(params, context);
      if (exact === null) return ask(reason);
      const { reads, ...always } = exact;
      const why = whyRememberable(exact);
      if (why === null) return ask(reason, reads === null ? {} : { always });
      if (
        reads !== 'machine' &&
        (await options.origins?.holdsUnder(await repositoryOf(exact.folder, workspace))) === true
      ) {
        return ask(sentences(reason, 'It was allowed for good, but files in its folder hold text from others'));
      }
      return { decision: 'allow', reason: why };
    },
    binds: async (params, context) => ({ ...(await profile(params, context)) }),
    shows: (params) => requestFor(params).detail,
    async action(params) {
      if ((await reachOf(params)) === 'workspace') return null;
      return { action: { kind: 'networked-exec' }, ...requestFor(params) };
    },
    execute: run,
  });
}

/** The whole of what will run. */
function requestFor({ command, cwd, background }: Params): Pick<DeclaredAction, 'title' | 'detail'> {
  const where = cwd === undefined ? '' : `# in ${escapeControlChars(JSON.stringify(cwd))}\n`;
  return {
    title: background === true ? 'Run a command in the background' : 'Run a command',
    detail: where + escapeControlChars(command),
  };
}

function deny(reason: string): ToolDecision {
  return { decision: 'deny', reason };
}

/** The real path of a folder in the workspace; a sentence for any other. */
async function findFolder(
  workspace: string,
  cwd = '.',
): Promise<{ readonly folder: string } | { readonly problem: string }> {
  const root = await realFolder(workspace);
  if (root === undefined) return { problem: `The workspace ${workspace} is not there; create it to run commands.` };
  const folder = await realFolder(resolve(root, cwd));
  if (folder === undefined) return { problem: `There is no folder ${escapeControlChars(cwd)} to run a command in.` };
  if (within(root, folder)) return { folder };
  return { problem: `${escapeControlChars(cwd)} is outside the workspace; commands start only inside it.` };
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}
