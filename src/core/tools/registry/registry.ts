import { approvalHash } from '../../security/access/approval-hash.ts';
import type { AuditDraft } from '../../storage/audit-log.ts';
import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { nearest, sentences } from '../../util/text.ts';
import { parseArguments } from './arguments.ts';
import { refusedUnplanned, decide, refusalOf, type ToolDecision, type ToolPolicy } from './decide.ts';
import {
  becameOf,
  capOutput,
  CHANGED,
  doubted,
  effectsAbout,
  failureLine,
  ownError,
  refusal,
  refusedResult,
  thrownResult,
  uncallable,
  type Became,
} from './result.ts';
import { ToolTable } from './tool-table.ts';
import type {
  ApprovalAnswer,
  ApprovalRequest,
  CallIds,
  CallPerson,
  Effect,
  Executed,
  Plan,
  Planned,
  Tool,
  ToolContext,
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
  /** Records each decision before the call runs. Never rejects. @default not recorded */
  readonly audit?: (draft: AuditDraft) => Promise<void>;
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

/** A call that its role may make and whose arguments fit. */
interface Ready {
  readonly tool: Tool;
  readonly params: Record<string, unknown>;
  /** What the tool says that it is about. */
  readonly about: () => Plan['about'];
}

/** Why a call cannot be made. */
interface Problem {
  /** Undefined: there is none of that name. */
  readonly tool: Tool | undefined;
  readonly problem: string;
  /** Its role may not call it; what it is about is for receipts. */
  readonly refused?: Pick<Ready, 'about'>;
}

type Verdict = Pick<AuditDraft, 'decision'> & Partial<Pick<AuditDraft, 'reason' | 'approval'>>;

/**
 * Holds all tools and makes each call: find and parse, plan, decide, ask, audit and intent, run, then redact, cap and fence.
 * It always returns a result, also for a refusal or an error.
 */
export class ToolRegistry extends ToolTable {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    super(options);
    this.#options = options;
  }

  /** Makes a call. Rejects only when `beforeEffect` or `audit` does. */
  async run(call: RequestedCall, context: ToolContext, options: ToolRunOptions = {}): Promise<ToolResult> {
    const ready = this.#ready(call, context);
    const { tool } = ready;
    if ('problem' in ready) {
      const { problem, refused } = ready;
      const name = call.name.slice(0, LONGEST_NAME);
      if (refused === undefined) return await this.#finish(uncallable(name, ready), { tool, planned: {} }, context);
      await this.#audit(call, context, { decision: 'refused', reason: problem });
      return await this.#finish(refusedResult(name, problem), { tool, planned: { about: refused.about() } }, context);
    }
    const planned = await this.#plan(ready, context);
    const result = await this.#perform(call, { ready, planned }, context, options);
    return await this.#finish(
      result,
      { tool, planned: { ...planned, about: planned.about ?? ready.about() } },
      context,
    );
  }

  /** Decides whether a call is allowed, refused, or needs a person's approval. Runs nothing. Never rejects. */
  async decide(call: RequestedCall, context: ToolContext): Promise<ToolDecision> {
    const ready = this.#ready(call, context);
    if ('problem' in ready) return { decision: 'deny', reason: ready.problem };
    const planned = await this.#plan(ready, context);
    await close(planned);
    return decide(planned, ready, context);
  }

  /** What a call that ended so, without a run of its own, changed or meant to change, without secrets. Never rejects. */
  async effectsOf(call: RequestedCall, context: ToolContext, became: Became): Promise<readonly Effect[]> {
    const ready = this.#ready(call, context);
    if ('problem' in ready) return this.#effects(ready.tool, undefined, became);
    const planned = await this.#plan(ready, context);
    await close(planned);
    return this.#effects(ready.tool, planned.about ?? ready.about(), became);
  }

  /** Plans a call that the turn and its skills allow; of any other nothing is looked at. */
  async #plan(ready: Ready, context: ToolContext): Promise<Planned> {
    const denied = refusedUnplanned(ready, context);
    if (denied !== null) return { denied };
    return await plan(ready, context, this.#options.clock);
  }

  /** Decides about a planned call, asks a person if needed, and runs it. */
  async #perform(
    call: RequestedCall,
    { ready, planned }: { readonly ready: Ready; readonly planned: Planned },
    context: ToolContext,
    options: ToolRunOptions,
  ): Promise<ToolResult> {
    const { tool } = ready;
    if (context.signal.aborted) {
      await close(planned);
      return ownError(tool, 'Not started: the turn was stopped.');
    }
    const decision = decide(planned, ready, context);
    const { reason = null } = decision;
    if (decision.decision === 'allow' && !('denied' in planned)) {
      const isAudited = tool.effect !== 'none' || tool.untrusted === true;
      if (isAudited) await this.#audit(call, context, { decision: 'allowed', reason });
      return await this.#execute(tool, planned, context, options);
    }
    await close(planned);
    if (decision.decision !== 'ask' || 'denied' in planned) {
      await this.#audit(call, context, { decision: 'refused', reason });
      return refusal(tool, `Refused: ${reason}`);
    }
    const { clock } = this.#options;
    const asked = await askAbout(ready, { plan: planned, request: decision.request, clock }, context);
    if (!asked.approved) {
      await this.#audit(call, context, { decision: 'declined', reason, approval: asked.reason });
      return refusal(tool, sentences(`Not done: ${asked.reason}`, decision.reason));
    }
    await this.#audit(call, context, { decision: 'approved', reason, approval: asked.by });
    return { ...(await this.#execute(tool, asked.again, asked.context, options)), approved: true };
  }

  /** Runs a plan. After a yes it is made anew, right before the start. */
  async #execute(
    tool: Tool,
    planned: Plan | Approved['again'],
    context: ToolContext,
    options: ToolRunOptions,
  ): Promise<ToolResult> {
    const slot = tool.waits === true ? undefined : options.slot;
    let held = typeof planned === 'function' ? null : planned;
    let running: Promise<unknown> | undefined;
    try {
      if (context.signal.aborted) return ownError(tool, 'Not started: the turn was stopped.');
      return await (slot ?? unlimited)(async () => {
        context.signal.throwIfAborted();
        const plan = typeof planned === 'function' ? await planned() : planned;
        held = plan;
        if (plan === null) return ownError(tool, CHANGED);
        if (tool.effect !== 'none') await options.beforeEffect?.(tool.effect);
        context.signal.throwIfAborted();
        return await this.#within(tool, (signal) => (running = (async () => plan.run(signal))()), context.signal);
      });
    } catch (error) {
      if (context.signal.aborted) {
        return running === undefined ? ownError(tool, `${CUT_OFF} It had not started.`) : doubted(tool, CUT_OFF);
      }
      if (running === undefined && tool.effect !== 'none') throw error;
      return thrownResult(tool, error);
    } finally {
      // A run that was given up may still use what its plan holds.
      void Promise.resolve(running)
        .catch(() => {})
        .then(() => held?.close?.())
        .catch(() => {});
    }
  }

  /** What a run returns. A run that takes too long is given up, and one that is stopped gets `CLEAN_UP_MS` to end its processes. */
  async #within(tool: Tool, run: Plan['run'], stopped: AbortSignal): Promise<ToolResult> {
    const { clock } = this.#options;
    const limitMs = tool.timeoutMs ?? TIMEOUT_MS;
    using limit = tool.waits === true ? null : deadline(clock, limitMs, tool.name);
    const signal = limit === null ? stopped : AbortSignal.any([stopped, limit.signal]);
    const running: Promise<Executed> = run(signal);
    try {
      return { metadata: {}, ...(await raceAbort(running, signal)) };
    } catch (error) {
      if (stopped.aborted) {
        // A run that ends in time says itself what it has done and undone.
        const late = await Promise.race([running.catch(() => undefined), sleep(clock, CLEAN_UP_MS)]);
        if (late !== undefined) {
          const output = late.isError === true ? `${CUT_OFF}\n${late.output}` : late.output;
          return { metadata: {}, ...late, output };
        }
      }
      if (limit?.signal.aborted !== true || stopped.aborted) throw error;
      const seconds = Math.round(limitMs / 1000);
      return doubted(tool, `The call was stopped after ${seconds} s, the longest that this tool may take.`);
    }
  }

  /** Finds the tool and parses its arguments. */
  #ready(call: RequestedCall, context: ToolContext): Ready | Problem {
    const { person } = context;
    const { sessionKey } = context.call;
    const tool = this.named(call.name, sessionKey);
    if (tool === undefined) {
      const known = this.specs(person.role, sessionKey).map(({ name }) => name);
      const guess = nearest(call.name, known);
      const all = known.length === 0 ? 'There are none here.' : `There are: ${known.join(', ')}.`;
      const hint = guess === undefined ? all : `Did you mean ${guess}?`;
      return { tool, problem: `There is no tool named ${call.name.slice(0, LONGEST_NAME)}. ${hint}` };
    }
    const parsed = parseArguments(tool.parameters, call.arguments);
    const about = (): Plan['about'] => {
      try {
        return parsed.ok ? tool.about?.(parsed.params, context) : undefined;
      } catch {
        return undefined;
      }
    };
    const refused = this.#refusal(tool, person);
    if (refused !== null) return { tool, problem: refused, refused: { about } };
    return parsed.ok ? { tool, params: parsed.params, about } : { tool, problem: parsed.problem };
  }

  /** The reason why a role may not call a tool. A trusted person in a direct chat also reads how to get an owner, if there is none. */
  #refusal(tool: Tool, { role, chatType, who }: CallPerson): string | null {
    const refused = refusalOf(tool, role, this.#options.policy);
    if (refused === null || tool.role !== 'owner' || role !== 'trusted' || chatType !== 'direct') return refused;
    return `${refused} ${this.#options.ownerless?.(who ?? '') ?? ''}`.trim();
  }

  async #audit(
    asked: RequestedCall,
    { call: { turnId, sessionKey }, person }: ToolContext,
    { decision, reason = null, approval = null }: Verdict,
  ): Promise<void> {
    await this.#options.audit?.({
      turn: turnId,
      session: sessionKey,
      who: person.who,
      role: person.role,
      origin: person.origin,
      // Line breaks in JSON are only white space between its parts.
      what: `${asked.name} ${asked.arguments}`.replaceAll(/\s*[\r\n]\s*/gu, ' '),
      decision,
      reason,
      approval,
    });
  }

  /** The result with its marks and effects, without secrets, and no longer than it may be. */
  async #finish(
    result: ToolResult,
    { tool, planned }: { readonly tool: Tool | undefined; readonly planned: Pick<Plan, 'about' | 'echoes'> },
    context: ToolContext,
  ): Promise<ToolResult> {
    const { redact, maxOutput } = this.#options;
    const { title, metadata, note, failure } = result;
    const untrusted = result.untrusted === true || tool?.untrusted === true;
    const echoed = untrusted && context.conversation.taint.private && planned.echoes !== false;
    const effects = result.effects ?? this.#effects(tool, planned.about, becameOf(result));
    const output = redact(result.output);
    // A page of a longer text is not kept in a file: the tool can read the whole again.
    const kept =
      output.length > maxOutput && metadata['truncated'] !== true ? await this.#spill(context, output) : undefined;
    return {
      ...result,
      ...(untrusted ? { untrusted } : {}),
      ...(result.private === true || echoed ? { private: true } : {}),
      ...(tool?.fetches === true && planned.echoes === false && result.isError !== true ? { author: 'outside' } : {}),
      ...(effects.length === 0 ? {} : { effects }),
      title: redact(title),
      output: capOutput(output, maxOutput, kept),
      ...(note === undefined ? {} : { note: redact(note) }),
      ...(failure === undefined ? {} : { failure: redact(failure) }),
      metadata: Object.fromEntries(
        Object.entries(metadata).map(([key, value]) => [key, typeof value === 'string' ? redact(value) : value]),
      ),
    };
  }

  #effects(tool: Tool | undefined, about: Plan['about'], became: Became): readonly Effect[] {
    return effectsAbout(tool, about, became).map((effect) =>
      effect.target === null ? effect : { ...effect, target: this.#options.redact(effect.target) },
    );
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

/** Plans a call. A plan that takes too long, or that comes after a stop, is given up. */
async function plan({ tool, params }: Ready, context: ToolContext, clock: Clock): Promise<Planned> {
  using limit = deadline(clock, tool.timeoutMs ?? TIMEOUT_MS, `planning ${tool.name}`);
  const planning = (async () => tool.plan(params, context))();
  try {
    return await raceAbort(planning, AbortSignal.any([context.signal, limit.signal]));
  } catch (error) {
    void planning.then(close, () => {});
    return { denied: failureLine(error) };
  }
}

async function close(planned: Planned): Promise<void> {
  if (!('denied' in planned)) await planned.close?.().catch(() => {});
}

interface Approved {
  readonly approved: true;
  readonly by: string;
  /** In which the call must run. */
  readonly context: ToolContext;
  /** Plans the call anew; null when that isn't what the yes was for. */
  readonly again: () => Promise<Plan | null>;
}

/** Asks a person about a call. A stop, or an error while asking, counts as a no. */
async function askAbout(
  ready: Ready,
  { plan: shown, request, clock }: { readonly plan: Plan; readonly request: ApprovalRequest; readonly clock: Clock },
  context: ToolContext,
): Promise<Approved | Extract<ApprovalAnswer, { approved: false }>> {
  const hash = hashOf(ready, shown, request, context);
  if (hash === null) return { approved: false, reason: 'it cannot be determined what an approval would allow' };
  const answer = await answerTo({ ...request, hash }, context);
  if (!answer.approved) return answer;
  const again = async (): Promise<Plan | null> => {
    const planned = await plan(ready, allowed, clock);
    const decision = decide(planned, ready, allowed);
    if (decision.decision !== 'deny' && !('denied' in planned)) {
      // Where nobody would be asked any more, for example after "always", what it covers decides alone.
      const now = decision.decision === 'ask' ? decision.request : request;
      if (hashOf(ready, planned, now, context) === hash) return planned;
    }
    await close(planned);
    return null;
  };
  const changed = async (): Promise<boolean> => {
    const planned = await again();
    await planned?.close?.();
    return planned === null;
  };
  const allowed: ToolContext = { ...context, approval: { covers: request.path ?? request.detail, changed } };
  return { approved: true, by: answer.by ?? 'somebody', context: allowed, again };
}

async function answerTo(request: ApprovalRequest, context: ToolContext): Promise<ApprovalAnswer> {
  try {
    return await raceAbort(context.people.approve(request), context.signal);
  } catch (error) {
    return { approved: false, reason: context.signal.aborted ? 'the turn was stopped' : failureLine(error) };
  }
}

/** Hash of everything that a yes allows; null when `covers` is no plain data. */
function hashOf(
  { tool, params }: Ready,
  { covers }: Plan,
  { title, detail, path }: ApprovalRequest,
  { files: { workingDirectory } }: ToolContext,
): string | null {
  try {
    return approvalHash({ tool: tool.name, params, workingDirectory, covers, title, detail, path });
  } catch {
    return null;
  }
}

function unlimited<T>(task: () => Promise<T>): Promise<T> {
  return task();
}
