import type { Role } from '../../bus/messages.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { nearest, sentences } from '../../util/text.ts';
import { parseArguments } from './arguments.ts';
import { askAbout, CHANGED } from './ask-about.ts';
import { auditOf, isAudited, type Audit } from './audited.ts';
import { becameOf, effectsOf } from './effects.ts';
import { refusalOf, type ToolPolicy } from './policy.ts';
import { doubted, ownError, refusal, thrownResult } from './own-results.ts';
import { capOutput, failureLine, refusedResult, uncallable } from './result.ts';
import { refusedBySkills } from './skill-limits.ts';
import { shownToGroup, withTaint } from './tainted-call.ts';
import { ToolTable, type Registered } from './tool-table.ts';
import type {
  CallIds,
  CallPerson,
  Effect,
  EffectClass,
  Executed,
  Tool,
  ToolContext,
  ToolDecision,
  ToolFacts,
  ToolResult,
} from '../tool.ts';

const TIMEOUT_MS = 120_000;
/** How long a stopped tool may clean up; less than the 2 s in which a /stop is answered. */
const CLEAN_UP_MS = 1_500;
/** Characters of an unknown tool name that an error repeats. */
const LONGEST_NAME = 64;
const CUT_OFF = 'Cut off: the turn was stopped.';

/** Writes an output that is too long for a result to a file; resolves with the path. */
export type KeepWhole = (call: CallIds, output: string) => Promise<string>;

export interface RegistryOptions {
  readonly policy: ToolPolicy;
  readonly clock: Clock;
  /** Removes secrets. */
  readonly redact: (text: string) => string;
  /** Longest output in characters. */
  readonly maxOutput: number;
  /** Keeps an output longer than `maxOutput` in a file that the session can read. @default the rest is lost */
  readonly spill?: KeepWhole;
  /** Records each decision before the call runs. @default not recorded */
  readonly audit?: Audit;
  /** Each tool as it is registered, for a trial. @default as it is */
  readonly wrap?: (tool: Tool) => Tool;
  /** One sentence that the channel of this person (`channel:id`) has no owner; null when it has one. @default always null */
  readonly ownerless?: (who: string) => string | null;
}

export interface RequestedCall {
  readonly name: string;
  /** Raw JSON text. */
  readonly arguments: string;
}

export interface ToolRunOptions {
  /** Awaited right before a tool with effects starts, when nothing can refuse the call any more. */
  readonly beforeEffect?: (effect: 'idempotent' | 'effect') => Promise<unknown>;
  /** Runs the tool while it holds a slot of the caller. @default no limit */
  readonly slot?: <T>(task: () => Promise<T>) => Promise<T>;
}

type Ready = { readonly tool: Tool; readonly params: Record<string, unknown> };

/** Holds all tools, checks and decides each call, runs it, and always returns a result, also for a refusal or an error. */
export class ToolRegistry {
  readonly #options: RegistryOptions;
  readonly #tools: ToolTable;
  readonly #specs = new Map<Role, readonly ToolSpec[]>();
  /** By the tools of a session, and the specs of all others. */
  readonly #sessionSpecs = new WeakMap<readonly Registered[], WeakMap<readonly ToolSpec[], readonly ToolSpec[]>>();
  /** The tools that `#specs` are of. */
  #specsOf: readonly Registered[] = [];

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#tools = new ToolTable(options.wrap);
  }

  /** As `ToolTable.register`. */
  register(tool: Tool): Disposable {
    return this.#tools.register(tool);
  }

  /** As `ToolTable.registerFor`. */
  registerFor(session: string, tool: Tool): Disposable {
    return this.#tools.registerFor(session, tool);
  }

  /** As `ToolTable.setPlugins`. */
  setPlugins<Given extends { readonly tool: Tool }>(all: readonly Given[]): readonly Given[] {
    return this.#tools.setPlugins(all);
  }

  /** Does this work with the tools that plugins have now, also when they are replaced meanwhile. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#tools.hold(work);
  }

  /** The policy is another one now: what each role may call is looked up anew. */
  policyChanged(): void {
    this.#specs.clear();
  }

  /**
   * The specs of the tools that a role may call, in the order of `list`; with a session those of that session alone
   * behind them. The same list until one changes.
   */
  specs(role: Role, session?: string): readonly ToolSpec[] {
    const common = this.#commonSpecs(role);
    const own = session === undefined ? [] : this.#tools.ofSession(session);
    if (own.length === 0) return common;
    const known = this.#sessionSpecs.get(own)?.get(common);
    if (known !== undefined) return known;
    const more = own.filter(({ tool }) => refusalOf(tool, role, this.#options.policy) === null);
    const specs = [...common, ...more.map(({ spec }) => spec)];
    this.#sessionSpecs.set(own, new WeakMap([[common, specs]]));
    return specs;
  }

  #commonSpecs(role: Role): readonly ToolSpec[] {
    const all = this.list();
    if (this.#specsOf !== all) this.#specs.clear();
    this.#specsOf = all;
    const known = this.#specs.get(role);
    if (known !== undefined) return known;
    const specs = all
      .filter(({ tool }) => refusalOf(tool, role, this.#options.policy) === null)
      .map(({ spec }) => spec);
    this.#specs.set(role, specs);
    return specs;
  }

  /** As `ToolTable.list`, in which a new MCP tool keeps the cached prompt prefix. */
  list(): readonly Registered[] {
    return this.#tools.list();
  }

  /** As `ToolTable.find`. */
  named(name: string, session?: string): (ToolFacts & Pick<Tool, 'effect'>) | undefined {
    return this.#tools.find(name, session);
  }

  /** The effect class of a tool; `none` for an unknown name, which runs nothing. */
  effectOf(name: string, session?: string): EffectClass {
    return this.#tools.find(name, session)?.effect ?? 'none';
  }

  /** Decides whether a call is allowed, refused, or needs a person's approval. Runs nothing. Never rejects. */
  async decide(call: RequestedCall, context: ToolContext): Promise<ToolDecision> {
    const ready = this.#prepare(call, context);
    if ('problem' in ready) return { decision: 'deny', reason: ready.problem };
    const withheld = context.limits.withheld(ready.tool.name);
    if (withheld !== null) return { decision: 'deny', reason: `${withheld}.` };
    const limited = refusedBySkills(ready.tool.name, ready.params, context.limits.skills);
    if (limited !== null) return { decision: 'deny', reason: limited };
    const { tool, params } = ready;
    try {
      const decision = (await tool.decide?.(params, context)) ?? { decision: 'allow' };
      if (decision.decision === 'deny') return decision;
      const declared =
        (await tool.action?.(params, context)) ?? shownToGroup(tool.shows?.(params, context), context.person);
      return withTaint(decision, declared, context.conversation.taint);
    } catch (error) {
      return { decision: 'deny', reason: failureLine(error) };
    }
  }

  /** Decides, asks a person if needed, and runs the call. Rejects only when `beforeEffect` or `audit` does. */
  async run(call: RequestedCall, context: ToolContext, options: ToolRunOptions = {}): Promise<ToolResult> {
    const result = await this.#run(call, context, options);
    const untrusted = result.untrusted === true || this.#find(call, context)?.untrusted === true;
    const isPrivate =
      result.private === true || (untrusted && context.conversation.taint.private && this.#repeats(call, context));
    const bits = { ...(untrusted ? { untrusted } : {}), ...(isPrivate ? { private: true } : {}) };
    const effects = result.effects ?? this.effectsOf(call, context, becameOf(result));
    return this.#clean({ ...result, ...bits, ...(effects.length === 0 ? {} : { effects }) }, context);
  }

  /** What a call that ended so changed or meant to change, without secrets. Never throws. */
  effectsOf(
    call: RequestedCall,
    context: ToolContext,
    became: Pick<Effect, 'outcome' | 'exitCode' | 'missing'>,
  ): readonly Effect[] {
    const ended = { tool: this.#find(call, context), arguments: call.arguments, context };
    return effectsOf(ended, became).map((effect) =>
      effect.target === null ? effect : { ...effect, target: this.#options.redact(effect.target) },
    );
  }

  async #run(call: RequestedCall, context: ToolContext, options: ToolRunOptions): Promise<ToolResult> {
    const ready = this.#prepare(call, context);
    const audit = async (verdict: Parameters<typeof auditOf>[2]): Promise<void> =>
      this.#options.audit?.(auditOf(call, context, verdict));
    if ('problem' in ready) {
      if (ready.refused === true) await audit({ decision: 'refused', reason: ready.problem });
      const name = call.name.slice(0, LONGEST_NAME);
      return ready.refused === true ? refusedResult(name, ready.problem) : uncallable(name, ready);
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
        if ((await context.approval?.changed()) === true) return ownError(tool, CHANGED);
        if (tool.effect !== 'none') await options.beforeEffect?.(tool.effect);
        context.signal.throwIfAborted();
        started = true;
        return this.#within(tool, params, context);
      });
    } catch (error) {
      if (context.signal.aborted) {
        return started ? doubted(tool, CUT_OFF) : ownError(tool, `${CUT_OFF} It had not started.`);
      }
      if (!started && tool.effect !== 'none') throw error;
      return thrownResult(tool, error);
    }
  }

  async #within(tool: Tool, params: Record<string, unknown>, context: ToolContext): Promise<ToolResult> {
    if (tool.waits === true) return whole(await this.#cleanedUp(tool.execute(params, context), context.signal));
    const limitMs = tool.timeoutMs ?? TIMEOUT_MS;
    const { clock } = this.#options;
    using limit = deadline(clock, limitMs, tool.name);
    const signal = AbortSignal.any([context.signal, limit.signal]);
    const running = tool.execute(params, { ...context, signal });
    try {
      return whole(await this.#cleanedUp(running, signal, context.signal));
    } catch (error) {
      if (!limit.signal.aborted || context.signal.aborted) throw error;
      const seconds = Math.round(limitMs / 1000);
      return doubted(tool, `The call was stopped after ${seconds} s, the longest that this tool may take.`);
    }
  }

  /** Rejects when `signal` aborts. After a /stop (`stopped`) it first waits up to `CLEAN_UP_MS` for the tool to end its processes. */
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
  ): Ready | { readonly problem: string; readonly refused?: boolean; readonly isMisfit?: boolean } {
    const { role } = context.person;
    const tool = this.#find(call, context);
    if (tool === undefined) {
      const known = this.specs(role, context.call.sessionKey).map(({ name }) => name);
      const guess = nearest(call.name, known);
      const all = known.length === 0 ? 'There are none here.' : `There are: ${known.join(', ')}.`;
      const hint = guess === undefined ? all : `Did you mean ${guess}?`;
      return { problem: `There is no tool named ${call.name.slice(0, LONGEST_NAME)}. ${hint}` };
    }
    const refusal = this.#refusal(tool, context.person);
    if (refusal !== null) return { problem: refusal, refused: true };
    try {
      const parsed = parseArguments(tool.parameters, call.arguments);
      return parsed.ok ? { tool, params: parsed.params } : { problem: parsed.problem, isMisfit: true };
    } catch (error) {
      return { problem: `The arguments could not be checked, so nothing was done: ${failureLine(error)}` };
    }
  }

  /** The reason why a role may not call a tool. A trusted person in a direct chat also reads how to get an owner, if there is none. */
  #refusal(tool: Tool, { role, chatType, who }: CallPerson): string | null {
    const refusal = refusalOf(tool, role, this.#options.policy);
    if (refusal === null || tool.role !== 'owner' || role !== 'trusted' || chatType !== 'direct') return refusal;
    return `${refusal} ${this.#options.ownerless?.(who ?? '') ?? ''}`.trim();
  }

  /** Whether the result may repeat the arguments, which can hold private text. True when the tool does not say or throws. */
  #repeats(call: RequestedCall, context: ToolContext): boolean {
    const ready = this.#prepare(call, context);
    if ('problem' in ready) return true;
    try {
      return ready.tool.repeats?.(ready.params, context) ?? true;
    } catch {
      return true;
    }
  }

  #find({ name }: RequestedCall, { call }: ToolContext): Tool | undefined {
    return this.#tools.find(name, call.sessionKey);
  }

  async #clean(result: ToolResult, context: ToolContext): Promise<ToolResult> {
    const { redact, maxOutput } = this.#options;
    const metadata = Object.fromEntries(
      Object.entries(result.metadata).map(([key, value]) => [key, typeof value === 'string' ? redact(value) : value]),
    );
    const output = redact(result.output);
    // A page of a longer text is not kept in a file: the tool can read the whole again.
    const isPage = result.metadata['truncated'] === true;
    const kept = output.length > maxOutput && !isPage ? await this.#spill(context, output) : undefined;
    return {
      ...result,
      title: redact(result.title),
      output: capOutput(output, maxOutput, kept),
      ...(result.note === undefined ? {} : { note: redact(result.note) }),
      ...(result.failure === undefined ? {} : { failure: redact(result.failure) }),
      metadata,
    };
  }

  /** Path of the file with the whole output; undefined when it could not be written. */
  async #spill(context: ToolContext, output: string): Promise<string | undefined> {
    try {
      return await this.#options.spill?.(context.call, output);
    } catch {
      return undefined;
    }
  }
}

function unlimited<T>(task: () => Promise<T>): Promise<T> {
  return task();
}

function whole(executed: Executed): ToolResult {
  return { metadata: {}, ...executed };
}
