import type { Role } from '../../bus/messages.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { AppError, OwnWordsError } from '../../util/errors.ts';
import { nearest, sentences } from '../../util/text.ts';
import { parseArguments } from './arguments.ts';
import { askAbout, CHANGED } from './ask-about.ts';
import { auditOf, isAudited, type Audit } from './audited.ts';
import { refusalOf, type ToolPolicy } from './policy.ts';
import { capOutput, errorResult, failureLine, refusedResult } from './result.ts';
import { toJsonSchema } from './schema.ts';
import { refusedBySkills } from './skill-limits.ts';
import { shownToGroup, withTaint } from './tainted-call.ts';
import type { EffectClass, Tool, ToolContext, ToolDecision, ToolResult } from '../tool.ts';

/** Names that models know from elsewhere. */
const ALIASES: Readonly<Record<string, string>> = {
  read: 'read_file',
  write: 'write_file',
  edit: 'edit_file',
  multiedit: 'apply_patch',
  ls: 'list_dir',
  list_directory: 'list_dir',
  bash: 'exec',
  shell: 'exec',
  run_command: 'exec',
  glob: 'glob',
  grep: 'grep',
  websearch: 'web_search',
  webfetch: 'web_fetch',
  fetch: 'web_fetch',
  task: 'spawn',
  'fs.read': 'read_file',
  'fs.write': 'write_file',
  'fs.edit': 'edit_file',
  'fs.list': 'list_dir',
};

const TIMEOUT_MS = 120_000;
/** Below the 2 s in which a /stop is acknowledged. */
const CLEAN_UP_MS = 1_500;
/** Longest part of an unknown name that is repeated. */
const LONGEST_NAME = 64;
const CUT_OFF = 'Cut off: the turn was stopped.';

export interface RegistryOptions {
  readonly policy: ToolPolicy;
  readonly clock: Clock;
  /** Removes secrets. */
  readonly redact: (text: string) => string;
  /** Longest output in characters. */
  readonly maxOutput: number;
  /** Keeps what is longer, where the session can read it; returns the path. @default it is lost */
  readonly spill?: (context: ToolContext, output: string) => Promise<string>;
  /** Told what was decided before it is done. @default nobody is told */
  readonly audit?: Audit;
  /** A sentence when nobody is owner where this person (`channel:id`) writes. @default nothing is known of that */
  readonly ownerless?: (who: string) => string | null;
}

export interface RequestedCall {
  readonly name: string;
  /** Raw JSON text. */
  readonly arguments: string;
}

export interface ToolRunOptions {
  /** Awaited before a tool starts that is not of class `none`, after everything that could refuse it. */
  readonly beforeEffect?: (effect: 'idempotent' | 'effect') => Promise<unknown>;
  /** Runs the tool inside a slot of the caller's. */
  readonly slot?: <T>(task: () => Promise<T>) => Promise<T>;
}

interface Registered {
  readonly tool: Tool;
  readonly spec: ToolSpec;
}

type Ready = { readonly tool: Tool; readonly params: Record<string, unknown> };

/** The tools there are. Decides by code who may call what, and always answers a call with a result. */
export class ToolRegistry {
  readonly #options: RegistryOptions;
  readonly #tools = new Map<string, Registered>();
  readonly #specs = new Map<Role, readonly ToolSpec[]>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** Throws when the name is taken or the schema cannot be shown to a model. */
  register(tool: Tool): Disposable {
    if (this.#tools.has(tool.name)) throw new AppError('tool-exists', `There is a tool named ${tool.name} already.`);
    const { name, description } = tool;
    const parameters = tool.jsonSchema ?? toJsonSchema(tool.parameters);
    this.#tools.set(name, { tool, spec: { name, description, parameters } });
    this.#specs.clear();
    return {
      [Symbol.dispose]: () => {
        this.#tools.delete(name);
        this.#specs.clear();
      },
    };
  }

  /** What a role is offered, in the order of `list`. */
  specs(role: Role): readonly ToolSpec[] {
    const known = this.#specs.get(role);
    if (known !== undefined) return known;
    const specs = this.list()
      .filter(({ tool }) => refusalOf(tool, role, this.#options.policy) === null)
      .map(({ spec }) => spec);
    this.#specs.set(role, specs);
    return specs;
  }

  /** Every tool: our own sorted by name, then those from elsewhere, so that a change there moves none of ours. */
  list(): readonly Registered[] {
    const foreign = ({ tool }: Registered): number => (tool.jsonSchema === undefined ? 0 : 1);
    return [...this.#tools.values()].toSorted(
      (a, b) => foreign(a) - foreign(b) || (a.tool.name < b.tool.name ? -1 : 1),
    );
  }

  /** The tool that a name means, also by a name that models know from elsewhere. */
  named(name: string): Pick<Tool, 'name' | 'effect'> | undefined {
    return this.#find(name);
  }

  /** Unknown names count as `none`: calling them does nothing. */
  effectOf(name: string): EffectClass {
    return this.#find(name)?.effect ?? 'none';
  }

  /** What policy says of a call; runs nothing. */
  async decide(call: RequestedCall, context: ToolContext): Promise<ToolDecision> {
    const ready = this.#prepare(call, context);
    if ('problem' in ready) return { decision: 'deny', reason: ready.problem };
    const withheld = context.withheld?.(ready.tool.name) ?? null;
    if (withheld !== null) return { decision: 'deny', reason: `${withheld}.` };
    const limited = refusedBySkills(ready.tool.name, ready.params, context.skills);
    if (limited !== null) return { decision: 'deny', reason: limited };
    const { tool, params } = ready;
    try {
      const decision = (await tool.decide?.(params, context)) ?? { decision: 'allow' };
      if (decision.decision === 'deny') return decision;
      const declared = (await tool.action?.(params, context)) ?? shownToGroup(tool.shows?.(params, context), context);
      return withTaint(decision, declared, context.taint);
    } catch (error) {
      return { decision: 'deny', reason: failureLine(error) };
    }
  }

  /** Decides, asks where a person has to be asked, runs. Never throws unless `beforeEffect` does. */
  async run(call: RequestedCall, context: ToolContext, options: ToolRunOptions = {}): Promise<ToolResult> {
    const result = await this.#run(call, context, options);
    const untrusted = result.untrusted === true || this.#find(call.name)?.untrusted === true;
    const isPrivate = result.private === true || (untrusted && context.taint.private && this.#repeats(call, context));
    const bits = { ...(untrusted ? { untrusted } : {}), ...(isPrivate ? { private: true } : {}) };
    return this.#clean({ ...result, ...bits }, context);
  }

  async #run(call: RequestedCall, context: ToolContext, options: ToolRunOptions): Promise<ToolResult> {
    const ready = this.#prepare(call, context);
    const audit = async (verdict: Parameters<typeof auditOf>[2]): Promise<void> =>
      this.#options.audit?.(auditOf(call, context, verdict));
    if ('problem' in ready) {
      if (ready.refused === true) await audit({ decision: 'refused', reason: ready.problem });
      const result = ready.refused === true ? refusedResult : errorResult;
      return result(call.name.slice(0, LONGEST_NAME), ready.problem);
    }
    const { tool } = ready;
    const decision = await this.decide(call, context);
    const { reason = null } = decision;
    if (decision.decision === 'deny') {
      await audit({ decision: 'refused', reason });
      return refusal(tool, `Refused: ${decision.reason}`);
    }
    if (decision.decision === 'allow') {
      if (isAudited(tool)) await audit({ decision: 'allowed', reason });
      return this.#execute(ready, context, options);
    }
    const asked = await askAbout(ready, decision.request, context);
    if ('allowed' in asked) {
      await audit({ decision: 'approved', reason, approval: asked.by });
      return { ...(await this.#execute(ready, asked.allowed, options)), approved: true };
    }
    await audit({ decision: 'declined', reason, approval: asked.reason });
    return refusal(tool, sentences(`Not done: ${asked.reason}`, decision.reason));
  }

  async #execute({ tool, params }: Ready, context: ToolContext, options: ToolRunOptions): Promise<ToolResult> {
    if (context.signal.aborted) return ownError(tool, 'Not started: the turn was stopped.');
    const slot = tool.waits === true ? undefined : options.slot;
    let started = false;
    try {
      return await (slot ?? unlimited)(async () => {
        context.signal.throwIfAborted();
        if ((await context.changed?.()) === true) return ownError(tool, CHANGED);
        if (tool.effect !== 'none') await options.beforeEffect?.(tool.effect);
        context.signal.throwIfAborted();
        started = true;
        return this.#within(tool, params, context);
      });
    } catch (error) {
      if (context.signal.aborted) {
        return ownError(tool, started ? CUT_OFF + doubt(tool) : `${CUT_OFF} It had not started.`);
      }
      if (!started && tool.effect !== 'none') throw error;
      return thrownResult(tool, error);
    }
  }

  async #within(tool: Tool, params: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    if (tool.waits === true) return await this.#cleanedUp(tool.execute(params, context), context.signal);
    const limitMs = tool.timeoutMs ?? TIMEOUT_MS;
    const { clock } = this.#options;
    using limit = deadline(clock, limitMs, tool.name);
    const signal = AbortSignal.any([context.signal, limit.signal]);
    const running = tool.execute(params, { ...context, signal });
    try {
      return await this.#cleanedUp(running, signal, context.signal);
    } catch (error) {
      if (!limit.signal.aborted || context.signal.aborted) throw error;
      return ownError(
        tool,
        `The call was stopped after ${Math.round(limitMs / 1000)} s, the longest that this tool may take.${doubt(tool)}`,
      );
    }
  }

  /** Rejects as soon as `signal` aborts; a tool that was stopped may clean up (end its processes) before. */
  async #cleanedUp<T>(running: Promise<T>, signal: AbortSignal, stopped = signal): Promise<T> {
    try {
      return await raceAbort(running, signal);
    } catch (error) {
      if (stopped.aborted) await Promise.race([running.catch(() => {}), sleep(this.#options.clock, CLEAN_UP_MS)]);
      throw error;
    }
  }

  #prepare(
    call: RequestedCall,
    context: ToolContext,
  ): Ready | { readonly problem: string; readonly refused?: boolean } {
    const { role } = context;
    const tool = this.#find(call.name);
    if (tool === undefined) {
      const known = this.specs(role).map(({ name }) => name);
      const guess = nearest(call.name, known);
      const all = known.length === 0 ? 'There are none here.' : `There are: ${known.join(', ')}.`;
      const hint = guess === undefined ? all : `Did you mean ${guess}?`;
      return { problem: `There is no tool named ${call.name.slice(0, LONGEST_NAME)}. ${hint}` };
    }
    const refusal = this.#refusal(tool, context);
    if (refusal !== null) return { problem: refusal, refused: true };
    try {
      const parsed = parseArguments(tool.parameters, call.arguments);
      return parsed.ok ? { tool, params: parsed.params } : { problem: parsed.problem };
    } catch (error) {
      return { problem: `The arguments could not be checked, so nothing was done: ${failureLine(error)}` };
    }
  }

  /** Somebody who may be the owner and is not, because nobody is, is told what to set. */
  #refusal(tool: Tool, { role, chatType, who = '' }: ToolContext): string | null {
    const refusal = refusalOf(tool, role, this.#options.policy);
    if (refusal === null || tool.role !== 'owner' || role !== 'trusted' || chatType !== 'direct') return refusal;
    return `${refusal} ${this.#options.ownerless?.(who) ?? ''}`.trim();
  }

  /** Whether what others answer may hold what the model put into the call. A tool that breaks may. */
  #repeats(call: RequestedCall, context: ToolContext): boolean {
    const ready = this.#prepare(call, context);
    if ('problem' in ready) return true;
    try {
      return ready.tool.repeats?.(ready.params, context) ?? true;
    } catch {
      return true;
    }
  }

  #find(name: string): Tool | undefined {
    return (this.#tools.get(name) ?? this.#tools.get(ALIASES[name.toLowerCase()] ?? ''))?.tool;
  }

  async #clean(result: ToolResult, context: ToolContext): Promise<ToolResult> {
    const { redact, maxOutput } = this.#options;
    const metadata = Object.fromEntries(
      Object.entries(result.metadata).map(([key, value]) => [key, typeof value === 'string' ? redact(value) : value]),
    );
    const output = redact(result.output);
    // A page of something longer is not kept: the whole can be read as before.
    const isPage = result.metadata['truncated'] === true;
    const kept = output.length > maxOutput && !isPage ? await this.#spill(context, output) : undefined;
    return {
      ...result,
      title: redact(result.title),
      output: capOutput(output, maxOutput, kept),
      ...(result.note === undefined ? {} : { note: redact(result.note) }),
      metadata,
    };
  }

  /** Undefined when it could not be kept; the result is then cut all the same. */
  async #spill(context: ToolContext, output: string): Promise<string | undefined> {
    try {
      return await this.#options.spill?.(context, output);
    } catch {
      return undefined;
    }
  }
}

/** What is to be said of a call that started and was not waited for. */
function doubt(tool: Tool): string {
  return tool.effect === 'none' ? '' : ' It may have taken effect.';
}

/** An error in the program's own words: of a tool whose results are fenced it stands outside of the fence. */
function ownError(tool: Tool, words: string): ToolResult {
  return tool.untrusted === true
    ? { title: tool.name, output: '', note: words, metadata: {}, isError: true }
    : errorResult(tool.name, words);
}

/** Why rules or a person did not let a call run. */
function refusal(tool: Tool, words: string): ToolResult {
  return { ...ownError(tool, words), refused: true };
}

/** What a tool threw: others' words may stand in it, beside what it declares to be the program's own. */
function thrownResult(tool: Tool, error: unknown): ToolResult {
  if (!(error instanceof OwnWordsError)) return errorResult(tool.name, failureLine(error));
  return { ...errorResult(tool.name, failureLine(error.said)), note: error.own };
}

function unlimited<T>(task: () => Promise<T>): Promise<T> {
  return task();
}
