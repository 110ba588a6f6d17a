import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  CHANGED,
  type CommandDecision,
  type CommandReach,
  type CommandWords,
  type Landing,
  type Marks,
  type ResultBits,
  findProgram,
  guardCommand,
  readHostList,
  readWords,
  weakest,
  within,
} from '../../core/api-commands.ts';
import { seesPrivate } from '../../core/api-memory.ts';
import type { Sandbox } from '../../core/api-sandbox.ts';
import {
  type EffectTarget,
  type Executed,
  type Plan,
  type Planned,
  type Tool,
  type ToolContext,
  defineTool,
  escapeControlChars,
  showsInGroup,
} from '../../core/api-tools.ts';
import { AppError, type Clock, type Config, Slots, oneLine, sentences } from '../../core/api.ts';
import { allowedForGood, namedFiles, onlyReads, type ForGood } from './always-allow.ts';
import type { BackgroundProcesses } from './background.ts';
import { markChanged, nothingKept, runOnView } from './landing.ts';
import { markedFiles } from './marked-files.ts';
import { commandResultOf, DEFAULT_COMMAND_LIMITS, runCommand, type CommandLimits, type ProgramCall } from './run.ts';
import { bitsOfCommand, topFolder } from './untrusted-output.ts';
import { descriptionOf, LONGEST_BACKGROUND_SECONDS, LONGEST_SECONDS, parametersFor, type ExecParams } from './spec.ts';

type Settings = Config['tools']['exec'];

/** How the tool `exec` runs commands, and which of them it asks about; what is configured is named as in `tools.exec`. */
export interface ExecOptions extends Pick<Settings, 'mode' | 'timeoutSeconds' | 'network' | 'maxConcurrent'> {
  /** The sandbox that commands run in; null: they run without one. */
  readonly sandbox: Sandbox | null;
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
  readonly allowCommands?: Settings['allowCommands'];
  /** Whether a person allowed the command with this hash for good. @default none */
  readonly isRemembered?: (hash: string) => boolean;
  /** Which files may hold untrusted text. @default none */
  readonly marks?: Marks;
  /** Runs commands on copy-on-write views. @default there are none */
  readonly landing?: Pick<Landing, 'probe' | 'open'>;
  /** Limits that end a command early. @default `DEFAULT_COMMAND_LIMITS` */
  readonly limits?: Partial<CommandLimits>;
  /** Runs commands in the background. @default none: the tool does not offer it */
  readonly background?: Pick<BackgroundProcesses, 'begin' | 'folders'>;
  readonly clock: Clock;
}

/** Where untrusted output of a command comes from. */
export const OUTPUT_SOURCE = 'the output of a command that may contain text by others';
/** The command has a limit of its own. This one leaves time for the question about its changes. */
const TOOL_TIMEOUT_MS = (LONGEST_SECONDS + LONGEST_BACKGROUND_SECONDS) * 1000;
const SLOW_MS = 5_000;
/** Where commands in the sandbox find programs: only there is anything to be seen. */
const INSIDE_PATH = '/usr/local/bin:/usr/bin:/bin';
/** What would wait for a person ends at once: there is no terminal, and standard input is empty. */
const NOBODY_THERE = { GIT_EDITOR: 'true', GIT_TERMINAL_PROMPT: '0', PAGER: 'cat', GIT_PAGER: 'cat' };

const EDITORS = /^(?:vi|vim|nvim|view|vimdiff|nano|pico|emacs|micro|joe|mcedit)$/u;
/** Options with which they do what they are told and end. */
const UNATTENDED = /^(?:-[eEs]s?|-c|\+.*|--(?:batch|headless|version|help|eval|script|cmd).*|-[vh]|-Es)$/u;

/** What is known of a command before it starts. */
interface Known {
  readonly words: CommandWords;
  readonly params: ExecParams;
  readonly context: ToolContext;
  /** Real path of the folder in which it starts. */
  readonly folder: string;
  readonly reach: CommandReach;
  /** Of what it prints. */
  readonly bits: ResultBits;
  /** True if what it changes gets marked. */
  readonly isTheirs: boolean;
  readonly isOnView: boolean;
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
    about: (params) => aboutCommand(params),
    plan: (params, context) => commands.plan(params, context),
  });
}

/** The target of a command for receipts. */
export function aboutCommand(
  { command }: Pick<ExecParams, 'command'>,
  words: CommandWords = readWords(command, { folder: '/', home: '/' }),
): readonly EffectTarget[] {
  return [{ kind: 'command', target: command, ...(onlyReads(words) ? { minor: true } : {}) }];
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
    const words = this.#read(command, cwd);
    const about = aboutCommand(params, words);
    const editor = editorIn(words);
    if (editor !== undefined)
      return {
        about,
        denied: `${editor} would wait for a person, but there is no terminal here; use edit_file, or a command such as sed.`,
      };
    const whyOutside = await this.#whyOutside(params);
    const hasNetwork = network || params.network === true;
    const reach = whyOutside !== null ? 'anywhere' : hasNetwork ? 'network' : 'workspace';
    const guarded = this.#judge(words, reach);
    if (guarded.decision === 'deny') return { about, denied: guarded.reason };
    const place = await findFolder(workspace, cwd);
    if ('problem' in place) return { about, denied: place.problem };
    const { untrusted } = context.conversation.taint;
    const { marks } = this.#options;
    const { folder } = place;
    const bits = await bitsOfCommand(command, reach, { marks, folder, workspace: await realpath(workspace) });
    const isTheirs = untrusted || bits.untrusted === true;
    const whyNoView = isTheirs && reach !== 'anywhere' ? await this.#whyNoView(params) : null;
    const isOnView = isTheirs && reach !== 'anywhere' && whyNoView === null;
    const known = { words, params, context, reach, folder, bits, isTheirs, isOnView } as const;
    const reason = sentences(
      guarded.decision === 'ask' ? guarded.reason : '',
      mode === 'ask'
        ? 'Every command needs your approval (tools.exec.mode is ask).'
        : mode === 'full'
          ? ''
          : (whyOutside ?? (params.network === true && !network ? 'It wants to reach the network.' : '')),
      ...(whyNoView !== null && (untrusted || reach === 'network') ? [capitalized(whyJudged(known)), whyNoView] : []),
    );
    // Files are read only where somebody may have to say yes.
    const mayAsk = reason !== '' || untrusted || context.approval !== null;
    const request = requestFor(
      params,
      mayAsk && reach === 'anywhere'
        ? await markedFiles(command, words, { marks, folder, workspace: await realpath(workspace) })
        : '',
    );
    const plan: Plan = {
      about,
      run: (signal) => this.#run(known, signal),
      reaches:
        reach === 'workspace' ? showsInGroup(request.detail) : { action: { kind: 'networked-exec' }, ...request },
      ...(mayAsk ? { covers: await this.#covers(known) } : {}),
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

  #read(command: string, cwd = '.'): CommandWords {
    const { workspace, environment } = this.#options;
    return readWords(command, { folder: resolve(workspace, cwd), home: environment['HOME'] });
  }

  /** What the words of a command say about it. */
  #judge(words: CommandWords, reach: CommandReach): CommandDecision {
    const { workspace, home } = this.#options;
    return guardCommand(words, { reach, workspace, home, opened: (target) => this.#opened.has(target) });
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

  /** Null: it can run on a view. Otherwise a sentence. */
  async #whyNoView({ background = false }: ExecParams): Promise<string | null> {
    if (background) return 'It runs in the background, so what it changes takes effect before anyone can check it.';
    const probe = await this.#options.landing?.probe();
    if (probe?.available === true) return null;
    const why = probe === undefined ? 'there is no store for it' : probe.reason;
    return sentences(
      `There's no copy-on-write view because ${why}, so what it changes takes effect before anyone can check it.`,
      probe?.remedy ?? '',
    );
  }

  /** The circumstances that a yes covers in addition to the command's text. */
  async #covers({
    params: { command },
    words,
    context,
    folder,
    reach,
    isOnView,
  }: Known): Promise<Readonly<Record<string, unknown>>> {
    const { mode, workspace } = this.#options;
    return {
      folder,
      mode,
      enclosed: reach !== 'anywhere',
      network: reach !== 'workspace',
      isOnView,
      environment: this.#environmentNames(context),
      files: await namedFiles(command, words, { folder, workspace: await realpath(workspace) }),
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
    const { params, context, reach, isTheirs, isOnView } = known;
    const { command, cwd, timeoutSeconds, background = false } = params;
    const { landing, marks, workspace, clock, timeoutSeconds: usual } = this.#options;
    if (background && this.#options.background !== undefined) {
      const seconds = timeoutSeconds ?? LONGEST_BACKGROUND_SECONDS;
      const bounds = { ...this.#limits, outputBytes: Infinity, seconds };
      const check = (text: string): CommandDecision => this.#judge(this.#read(text, cwd), reach);
      const asks = context.approval !== null;
      const start = { command, cwd: known.folder, program: await this.#program(known), permit: context.permit };
      const top = await topFolder(command, { folder: known.folder, workspace: await realpath(workspace) });
      const readsMarked = (): boolean => marks?.holdsBelow(top) === true;
      const marksIn = isTheirs ? await this.#changesIn(known) : null;
      return await this.#options.background.begin(
        { ...start, bits: known.bits, readsMarked, marksIn, bounds, reach, asks, check },
        context,
        signal,
      );
    }
    const seconds = Math.min(timeoutSeconds ?? usual, LONGEST_SECONDS);
    const waiting = this.#slots.hold(signal, context.call.id);
    const hasWaited = this.#slots.isWaiting(context.call.id);
    using slot = await waiting;
    if ((await context.approval?.changed()) === true) throw new AppError('approval-changed', CHANGED);
    const place = hasWaited ? await findFolder(workspace, cwd) : known;
    if (!('folder' in place) || place.folder !== known.folder) throw new AppError('approval-changed', CHANGED);
    const program = await this.#program(known);
    using _slow = clock.timer(SLOW_MS, () =>
      context.people.progress(oneLine(`still running ${escapeControlChars(command)}`, 80)),
    );
    const bounds = { ...this.#limits, seconds };
    // What was marked while it ran counts too.
    const bitsNow = async (): Promise<ResultBits> => ({
      ...known.bits,
      ...(await bitsOfCommand(command, reach, { marks, folder: known.folder, workspace: await realpath(workspace) })),
    });
    const run = { program, cwd: known.folder, mark: workspace, bounds, clock, permit: context.permit };
    if (isOnView && landing !== undefined) {
      const busyFolders = (): readonly string[] => this.#options.background?.folders() ?? [];
      const landed = await runOnView(
        { command, why: whyJudged(known), run, context, busyFolders, onEnd: () => slot[Symbol.dispose]() },
        { landing, marks },
        signal,
      ).catch((error: unknown) => {
        if (signal.aborted) return null;
        throw error;
      });
      const title = oneLine(`ran ${escapeControlChars(command)}`, 80);
      if (landed === null) return { title, output: nothingKept('it was stopped'), isError: true, ...known.bits };
      const { outcome, notes, hasLanded, diff } = landed;
      const result = commandResultOf(command, outcome, reach, notes);
      return {
        ...result,
        ...(hasLanded ? {} : { isError: true, failure: notes.join(' ') }),
        ...(diff === undefined ? {} : { diff }),
        ...(await bitsNow()),
      };
    }
    const from = clock.now();
    try {
      const outcome = await runCommand({ ...run, signal });
      return { ...commandResultOf(command, outcome, reach), ...(await bitsNow()) };
    } finally {
      if (marks !== undefined && (isTheirs || (await bitsNow()).untrusted === true))
        await markChanged(marks, await this.#changesIn(known), { from, to: clock.now() });
    }
  }

  /** The folder in which a command's changes get marked. */
  async #changesIn({ params: { command }, context, reach, folder }: Known): Promise<string> {
    const workspace = await realpath(this.#options.workspace);
    const isEverywhere = context.conversation.taint.untrusted || reach !== 'workspace';
    return isEverywhere ? workspace : await topFolder(command, { folder, workspace });
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
function editorIn({ invocations }: CommandWords): string | undefined {
  return invocations.find(({ name, args }) => EDITORS.test(name) && !args.some((arg) => UNATTENDED.test(arg)))?.name;
}

/** Why a command's changes may need approval: a clause for people. */
function whyJudged({ context, reach }: Pick<Known, 'context' | 'reach'>): string {
  const { untrusted, source } = context.conversation.taint;
  if (untrusted) return `this conversation contains text from ${source ?? 'outside'}`;
  return reach === 'network' ? 'the command can reach the internet' : 'files in its folder hold text from others';
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The whole of what will run. */
function requestFor(
  { command, cwd, background }: ExecParams,
  marked: string,
): { readonly title: string; readonly detail: string } {
  const where = cwd === undefined ? '' : `# in ${escapeControlChars(JSON.stringify(cwd))}\n`;
  return {
    title: background === true ? 'Run a command in the background' : 'Run a command',
    detail: where + escapeControlChars(command) + marked,
  };
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
