import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { seesPrivate, weakest } from '../../security/access/access.ts';
import { guardCommand, type CommandDecision, type CommandReach } from '../../security/commands/guard.ts';
import { readWords } from '../../security/commands/words.ts';
import { findProgram } from '../../security/enclosure/enclosure.ts';
import type { Sandbox } from '../../security/enclosure/sandbox.ts';
import { readHostList } from '../../security/fetch/host-list.ts';
import { within } from '../../security/paths/rules.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import { oneLine, sentences } from '../../util/text.ts';
import type { FileOrigins, ResultBits } from '../../files/origins.ts';
import { CHANGED } from '../registry/result.ts';
import {
  type EffectTarget,
  defineTool,
  showsInGroup,
  type Executed,
  type Plan,
  type Planned,
  type Tool,
  type ToolContext,
} from '../tool.ts';
import { allowedForGood, namedFiles, onlyReads, type ForGood } from './always-allow.ts';
import type { BackgroundProcesses } from './background.ts';
import { askToPutBack, whileWatched } from './git.ts';
import { commandResultOf, DEFAULT_COMMAND_LIMITS, runCommand, type CommandLimits, type ProgramCall } from './run.ts';
import { descriptionOf, LONGEST_BACKGROUND_SECONDS, LONGEST_SECONDS, parametersFor, type ExecParams } from './spec.ts';

/** How the tool `exec` runs commands, and which of them it asks about. */
export interface ExecOptions {
  /** `auto` asks only before commands outside the sandbox, so before every command if there is no sandbox. */
  readonly mode: 'off' | 'ask' | 'auto' | 'full';
  /** Time limit of commands whose call gives none, seconds; 600 at most. */
  readonly timeoutSeconds: number;
  /** The sandbox that commands run in; null: they run without one. */
  readonly sandbox: Sandbox | null;
  /** Whether commands in the sandbox reach the network without a question. */
  readonly network: boolean;
  /** Most commands that run at the same time; others wait. */
  readonly maxConcurrent: number;
  /** Absolute path; commands run in it or below it, and in the sandbox it is HOME. */
  readonly workspace: string;
  /** Folders besides the workspace that commands in the sandbox may read, as in `tools.readRoots`. @default none */
  readonly readRoots?: readonly string[];
  /** The whole environment of commands; HOME and PATH apply only outside the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** The assistant's home; outside the sandbox a command that names it is asked about. @default not known */
  readonly home?: string;
  /** Private hosts that commands may name, as in `tools.web.allowHosts`. @default none */
  readonly allowHosts?: readonly string[];
  /** Exact commands that run without a question, as in `tools.exec.allowCommands`. @default none */
  readonly allowCommands?: readonly string[];
  /** Whether a person allowed the command with this hash for good. @default none */
  readonly isRemembered?: (hash: string) => boolean;
  /** Which files have content of strangers. @default unknown */
  readonly origins?: FileOrigins;
  /** Limits that end a command early. @default `DEFAULT_COMMAND_LIMITS` */
  readonly limits?: Partial<CommandLimits>;
  /** Runs commands in the background. @default none: the tool does not offer it */
  readonly background?: Pick<BackgroundProcesses, 'begin'>;
  readonly clock: Clock;
}

/** Where untrusted output of a command comes from. */
export const OUTPUT_SOURCE = 'the output of a command that may contain text by others';
/** Room to end a command that ran into its own limit. */
const TOOL_TIMEOUT_MS = (LONGEST_SECONDS + 5) * 1000;
const SLOW_MS = 5_000;
/** Where commands in the sandbox find programs: only there is anything to be seen. */
const INSIDE_PATH = '/usr/local/bin:/usr/bin:/bin';
/** What would wait for a person ends at once: there is no terminal, and standard input is empty. */
const NOBODY_THERE = { GIT_EDITOR: 'true', GIT_TERMINAL_PROMPT: '0', PAGER: 'cat', GIT_PAGER: 'cat' };

const EDITORS = /^(?:vi|vim|nvim|view|vimdiff|nano|pico|emacs|micro|joe|mcedit)$/u;
/** Options with which they do what they are told and end. */
const UNATTENDED = /^(?:-[eEs]s?|-c|\+.*|--(?:batch|headless|version|help|eval|script|cmd).*|-[vh]|-Es)$/u;

const TOOLS = 'curl|wget|aria2c|yt-dlp|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp|lynx|links|w3m|gh|glab';
const GIT = String.raw`git\s+(?:-\S+\s+)*(?:clone|fetch|pull|ls-remote|submodule|remote\s+update)`;
const PACKAGES = String.raw`(?:npm|pnpm|yarn|bun|pip[3x]?|uv|cargo|gem|brew|apt(?:-get)?|docker|podman)\s+(?:-\S+\s+)*(?:i|install|add|ci|view|info|search|audit|update|download|pull)`;
const FETCHES = new RegExp(String.raw`https?://|(?<![\w-])(?:${TOOLS}|${GIT}|${PACKAGES})(?![\w-])`, 'iu');

/** What is known of a command before it starts. */
interface Known {
  readonly params: ExecParams;
  readonly context: ToolContext;
  /** Real path of the folder in which it starts. */
  readonly folder: string;
  readonly reach: CommandReach;
}

/** The tool that runs commands; so many at once as are allowed, the others wait. */
export function createExecTool(options: ExecOptions): Tool {
  const commands = new Commands(options);
  return defineTool({
    name: 'exec',
    fits: 'tiny',
    source: OUTPUT_SOURCE,
    description: descriptionOf(options),
    parameters: parametersFor(Math.min(options.timeoutSeconds, LONGEST_SECONDS)),
    effect: 'effect',
    role: 'owner',
    timeoutMs: TOOL_TIMEOUT_MS,
    about: aboutCommand,
    plan: (params, context) => commands.plan(params, context),
  });
}

/** The target of a command for receipts. */
export function aboutCommand({ command }: Pick<ExecParams, 'command'>): readonly EffectTarget[] {
  return [{ kind: 'command', target: command, ...(onlyReads(command) ? { minor: true } : {}) }];
}

class Commands {
  readonly #options: ExecOptions;
  readonly #opened: ReturnType<typeof readHostList>;
  readonly #slots: Slots;
  readonly #limits: CommandLimits;

  constructor(options: ExecOptions) {
    this.#options = options;
    this.#opened = readHostList('allowHosts', options.allowHosts ?? []);
    this.#slots = new Slots(options.maxConcurrent);
    this.#limits = { ...DEFAULT_COMMAND_LIMITS, ...options.limits };
  }

  async plan(params: ExecParams, context: ToolContext): Promise<Planned> {
    const { mode, network, workspace, background } = this.#options;
    const { command, cwd } = params;
    if (mode === 'off') return { denied: 'Running commands is switched off in the configuration (tools.exec.mode).' };
    if (command.includes('\0')) return { denied: 'A command cannot contain NUL characters.' };
    if (params.background === true && background === undefined)
      return { denied: 'Nothing can be left running in the background here; run it without background: true.' };
    const editor = editorIn(command);
    if (editor !== undefined)
      return {
        denied: `${editor} would wait for a person, but there is no terminal here; use edit_file, or a command such as sed.`,
      };
    const whyOutside = await this.#whyOutside(params);
    const hasNetwork = network || params.network === true;
    const reach = whyOutside !== null ? 'anywhere' : hasNetwork ? 'network' : 'workspace';
    const guarded = this.check(command, reach, cwd);
    if (guarded.decision === 'deny') return { denied: guarded.reason };
    const place = await findFolder(workspace, cwd);
    if ('problem' in place) return { denied: place.problem };
    const known = { params, context, reach, folder: place.folder } as const;
    const { untrusted } = context.conversation.taint;
    const reason = sentences(
      guarded.decision === 'ask' ? guarded.reason : '',
      mode === 'ask'
        ? 'Every command needs your approval (tools.exec.mode is ask).'
        : mode === 'full'
          ? ''
          : (whyOutside ?? (params.network === true && !network ? 'It wants to reach the network.' : '')),
    );
    const request = requestFor(params);
    const plan: Plan = {
      run: (signal) => this.#run(known, signal),
      reaches:
        reach === 'workspace' ? showsInGroup(request.detail) : { action: { kind: 'networked-exec' }, ...request },
      // Files are read only where somebody may have to say yes.
      ...(reason !== '' || untrusted || context.approval !== null ? { covers: await this.#covers(known) } : {}),
    };
    if (reason === '') return plan;
    // While strangers have a say nothing is allowed for good, and nothing that was counts.
    const exact = untrusted ? null : await this.#forGood(known);
    if (exact?.why !== undefined) {
      if (!exact.isDoubtful) return { ...plan, allowedBy: exact.why };
      const why = sentences(reason, 'It was allowed for good, but files in its folder hold text from others');
      return { ...plan, asks: { ...request, reason: why } };
    }
    const always =
      exact?.reads == null ? {} : { always: { program: exact.program, folder: place.folder, hash: exact.hash } };
    return { ...plan, asks: { ...request, reason, ...always } };
  }

  /** What the words of a command say about it. */
  check(command: string, reach: CommandReach, cwd = '.'): CommandDecision {
    const { workspace, home, environment } = this.#options;
    return guardCommand(command, {
      reach,
      cwd: resolve(workspace, cwd),
      workspace,
      home,
      userHome: environment['HOME'],
      opened: (target) => this.#opened.has(target),
    });
  }

  /** Null: it runs in the sandbox. Otherwise why it does not. */
  async #whyOutside({ outside }: ExecParams): Promise<string | null> {
    const { mode, sandbox } = this.#options;
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
  }

  /** The circumstances that a yes covers in addition to the command's text. */
  async #covers({ params: { command }, context, folder, reach }: Known): Promise<Readonly<Record<string, unknown>>> {
    const { mode, workspace } = this.#options;
    return {
      folder,
      mode,
      enclosed: reach !== 'anywhere',
      network: reach !== 'workspace',
      environment: this.#environmentNames(context),
      files: await namedFiles(command, { folder, workspace: await realpath(workspace) }),
    };
  }

  async #forGood({ params, context, folder, reach }: Known): Promise<ForGood | null> {
    const { environment } = this.#options;
    const isInside = reach !== 'anywhere';
    return await allowedForGood(params.command, {
      ...this.#options,
      folder,
      path: isInside ? INSIDE_PATH : (environment['PATH'] ?? ''),
      circumstances: {
        enclosed: isInside,
        network: this.#options.network || params.network === true,
        environment: this.#environmentNames(context),
        ...(params.background === true ? { background: true } : {}),
      },
    });
  }

  #environmentNames({ limits: { skills } }: ToolContext): readonly string[] {
    return Object.keys({ ...this.#options.environment, ...skills.env }).toSorted();
  }

  async #run(known: Known, signal: AbortSignal): Promise<Executed> {
    const { params, context, reach } = known;
    const { command, cwd, timeoutSeconds, background = false } = params;
    const { origins, sandbox, workspace, clock, timeoutSeconds: usual } = this.#options;
    const bits = await bitsOfCommand(command, reach, { origins, cwd: resolve(workspace, cwd ?? '.') });
    const mayWriteTheirs = bits.untrusted === true || context.conversation.taint.untrusted;
    const git = reach === 'anywhere' ? undefined : sandbox?.git;
    if (background && this.#options.background !== undefined) {
      const seconds = timeoutSeconds ?? LONGEST_BACKGROUND_SECONDS;
      const bounds = { ...this.#limits, outputBytes: Infinity, seconds };
      const check = (text: string): CommandDecision => this.check(text, reach, cwd);
      const asks = context.approval !== null;
      const start = { command, cwd: known.folder, program: await this.#program(known), permit: context.permit };
      return await this.#options.background.begin(
        { ...start, bits, mayWriteTheirs, git, bounds, reach, asks, check },
        context,
        signal,
      );
    }
    const seconds = Math.min(timeoutSeconds ?? usual, LONGEST_SECONDS);
    const waiting = this.#slots.hold(signal, context.call.id);
    const hasWaited = this.#slots.isWaiting(context.call.id);
    using _slot = await waiting;
    if ((await context.approval?.changed()) === true) throw new AppError('approval-changed', CHANGED);
    const place = hasWaited ? await findFolder(workspace, cwd) : known;
    if (!('folder' in place) || place.folder !== known.folder) throw new AppError('approval-changed', CHANGED);
    const program = await this.#program(known);
    using _slow = clock.timer(SLOW_MS, () =>
      context.people.progress(oneLine(`still running ${escapeControlChars(command)}`, 80)),
    );
    const work = (): ReturnType<typeof runCommand> =>
      runCommand({
        program,
        cwd: known.folder,
        mark: workspace,
        limits: this.#limits,
        timeoutMs: seconds * 1000,
        signal,
        permit: context.permit,
        clock,
      });
    const marked = (): ReturnType<typeof runCommand> =>
      mayWriteTheirs && origins !== undefined ? origins.during(work) : work();
    const { outcome, undone } = await whileWatched(mayWriteTheirs ? git : undefined, marked);
    const notes = await askToPutBack(undone, git, context);
    return { ...commandResultOf(command, outcome, { ...this.#limits, seconds, reach }, notes), ...bits };
  }

  /** What runs it, with the environment that it may see. */
  async #program({ params, context, folder, reach }: Known): Promise<ProgramCall> {
    const { sandbox, workspace, network } = this.#options;
    const environment: Readonly<Record<string, string>> = {
      ...NOBODY_THERE,
      ...this.#options.environment,
      ...context.limits.skills.env,
    };
    if (reach === 'anywhere' || sandbox === null) {
      const shell = findProgram('bash', environment['PATH'] ?? '') ?? '/bin/sh';
      return {
        command: [shell, '-c', params.command, 'bash'],
        environment: { ...environment, HOME: environment['HOME'] ?? workspace },
        engine: null,
        mounts: [],
        network: true,
      };
    }
    const enclosure = await sandbox.enclose({
      cwd: folder,
      // Where others read along nothing shows what is the owner's alone.
      role: seesPrivate(context.person) ? 'owner' : weakest(context.person.role, 'trusted'),
      network: network || params.network === true,
      readRoots: [...context.files.readRoots, ...(context.files.roots ?? [])],
    });
    const inside = { ...environment, PATH: INSIDE_PATH, HOME: workspace };
    return { command: ['/bin/bash', '-c', params.command], environment: inside, ...enclosure };
  }
}

/** The editor that a command would open: without a terminal some of them wait until their time is over. */
function editorIn(command: string): string | undefined {
  const { invocations } = readWords(command, { folder: '/', home: '/' });
  return invocations.find(({ name, args }) => EDITORS.test(name) && !args.some((arg) => UNATTENDED.test(arg)))?.name;
}

/** The whole of what will run. */
function requestFor({ command, cwd, background }: ExecParams): { readonly title: string; readonly detail: string } {
  const where = cwd === undefined ? '' : `# in ${escapeControlChars(JSON.stringify(cwd))}\n`;
  return {
    title: background === true ? 'Run a command in the background' : 'Run a command',
    detail: where + escapeControlChars(command),
  };
}

/**
 * The bits of what a command prints. It may print any file of the owner's. It may print words of strangers when it has
 * the network, when it names a file they had a part in, or when it is not enclosed and looks as if it fetched
 * something: to hold every such command for one would make `full` a mode that asks each time.
 */
async function bitsOfCommand(
  command: string,
  reach: CommandReach,
  { origins, cwd }: { readonly origins: FileOrigins | undefined; /** Absolute. */ readonly cwd: string },
): Promise<ResultBits> {
  const fetches = reach === 'network' || (reach === 'anywhere' && FETCHES.test(command));
  const isUntrusted = fetches || (await origins?.isNamedIn(command, cwd)) === true;
  return isUntrusted ? { private: true, untrusted: true } : { private: true };
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
