import { resolve } from 'node:path';
import type { GitKeeper } from '../../security/sandbox/git-keeper.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { AppError } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import { oneLine } from '../../util/text.ts';
import { CHANGED } from '../registry/result.ts';
import type { ToolContext, ToolResult } from '../tool.ts';
import { startInBackground } from './background/start.ts';
import type { ExecDecisions } from './decision.ts';
import type { Enclosure } from './enclosure.ts';
import { folderOf } from './folder.ts';
import { askToPutBack, whileWatched } from './git.ts';
import type { ExecOptions } from './options.ts';
import { commandResultOf } from './result.ts';
import {
  DEFAULT_COMMAND_LIMITS,
  runCommand,
  type CommandLimits,
  type CommandOutcome,
  type ProgramCall,
} from './run.ts';
import { LONGEST_BACKGROUND_SECONDS, LONGEST_SECONDS, type ExecParams } from './spec.ts';
import { bitsOfCommand, type Reach } from './taint.ts';

const SLOW_MS = 5_000;

/** What is known of a command before it starts. */
interface CommandRun {
  readonly reach: Reach;
  readonly bits: Awaited<ReturnType<typeof bitsOfCommand>>;
  /** What it writes counts as text from others. */
  readonly mayWriteTheirs: boolean;
  readonly git: GitKeeper | undefined;
}

/** Runs commands that were decided about; so many at once as are allowed, the others wait. */
export class Execution {
  readonly #options: ExecOptions;
  readonly #enclosure: Enclosure;
  readonly #decisions: ExecDecisions;
  readonly #slots: Slots;
  readonly #limits: CommandLimits;

  constructor(options: ExecOptions, enclosure: Enclosure, decisions: ExecDecisions) {
    this.#options = options;
    this.#enclosure = enclosure;
    this.#decisions = decisions;
    this.#slots = new Slots(options.maxConcurrent);
    this.#limits = { ...DEFAULT_COMMAND_LIMITS, ...options.limits };
  }

  async run(params: ExecParams, context: ToolContext): Promise<ToolResult> {
    const { command, cwd, timeoutSeconds } = params;
    const seconds = Math.min(timeoutSeconds ?? this.#options.timeoutSeconds, LONGEST_SECONDS);
    const { signal, permit } = context;
    const { origins, background, sandbox, workspace, clock } = this.#options;
    const reach = await this.#enclosure.reachOf(params);
    const bits = await bitsOfCommand(command, reach, { origins, cwd: resolve(workspace, cwd ?? '.') });
    const mayWriteTheirs = bits.untrusted === true || context.conversation.taint.untrusted;
    const git = reach === 'anywhere' ? undefined : sandbox?.git;
    const run: CommandRun = { reach, bits, mayWriteTheirs, git };
    if (params.background === true && background !== undefined) {
      return await this.#start(params, { processes: background, run }, context);
    }
    const execute = (program: ProgramCall, folder: string): Promise<CommandOutcome> =>
      runCommand({
        program,
        cwd: folder,
        mark: this.#options.workspace,
        limits: this.#limits,
        timeoutMs: seconds * 1000,
        signal,
        permit,
        clock,
      });
    const { outcome, undone } = await this.#slots.run(async () => {
      const folder = await this.#folderFor(params, context);
      const program = await this.#enclosure.program(params, folder, context);
      using _slow = clock.timer(SLOW_MS, () =>
        context.people.progress(oneLine(`still running ${escapeControlChars(command)}`, 80)),
      );
      const work = (): Promise<CommandOutcome> => execute(program, folder);
      const marked = (): Promise<CommandOutcome> =>
        mayWriteTheirs && origins !== undefined ? origins.during(work) : work();
      return await whileWatched(mayWriteTheirs ? git : undefined, marked);
    }, signal);
    const notes = await askToPutBack(undone, git, context);
    return { ...commandResultOf(command, outcome, { ...this.#limits, seconds, reach }, notes), ...bits };
  }

  /** Leaves it running, and shows how it begins. */
  async #start(
    params: ExecParams,
    {
      processes,
      run: { reach, bits, mayWriteTheirs, git },
    }: { readonly processes: NonNullable<ExecOptions['background']>; readonly run: CommandRun },
    context: ToolContext,
  ): Promise<ToolResult> {
    const { command, cwd, timeoutSeconds } = params;
    const { clock } = this.#options;
    const folder = await this.#folderFor(params, context);
    const program = await this.#enclosure.program(params, folder, context);
    const bounds = { ...this.#limits, outputBytes: Infinity, seconds: timeoutSeconds ?? LONGEST_BACKGROUND_SECONDS };
    const asks = context.approval !== null;
    const inside = {
      cwd: folder,
      bounds,
      reach,
      asks,
      permit: context.permit,
      check: (text: string) => this.#decisions.check(text, reach, cwd),
    };
    return await startInBackground({ command, program, bits, mayWriteTheirs, git, ...inside }, context, {
      processes,
      clock,
    });
  }

  /** It may have waited for others to end. */
  async #folderFor({ cwd }: ExecParams, context: ToolContext): Promise<string> {
    const folder = await folderOf(this.#options.workspace, cwd);
    if ((await context.approval?.changed()) === true) throw new AppError('approval-changed', CHANGED);
    return folder;
  }
}
