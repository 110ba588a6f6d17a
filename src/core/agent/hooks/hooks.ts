import { type Finding, warning } from '../../util/finding.ts';
import type { InboundDraft, InboundMessage, OutboundMessage, TurnSummary } from '../../bus/messages.ts';
import type { ModelEvent, ModelRequest } from '../../providers/provider.ts';
import type { ToolResult } from '../../tools/tool.ts';
import { deadline, DeadlineError, raceAbort, systemClock, type Clock } from '../../util/clock.ts';
import { Held } from '../../util/held.ts';
import type { Logger } from '../../util/log.ts';
import { thrownLine } from '../../util/misfit.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { checkHookValue } from './values.ts';

/** What a hook decides about the value it got: keep it, replace it, or deny it with a reason. */
export type Decision<Value> =
  | { readonly type: 'proceed' }
  | { readonly type: 'replace'; readonly value: Value }
  | { readonly type: 'deny'; readonly reason: string };

/** The message after the `admit` hooks, or the reason why one refuses it. */
type Admission = { readonly value: InboundMessage } | { readonly denied: string; readonly by: string };

/** What a hook returns: at once or later; undefined changes nothing. */
export type HookAnswer<Value> = Value | undefined | Promise<Value | undefined>;

/** A tool call as hooks see it. */
export interface HookedCall {
  readonly name: string;
  /** Raw JSON text. */
  readonly arguments: string;
}

export interface TurnFacts {
  readonly turnId: string;
  readonly sessionKey: string;
  readonly messages: readonly InboundMessage[];
}

/** Calls the model, or the next hook around it. */
export type CallModel = (request: ModelRequest) => AsyncIterable<ModelEvent>;

/** Why a turn failed. */
export interface TurnFailure {
  /** What a person reads. */
  readonly sentence: string;
}

/** State that plugins keep for the length of a turn. */
export type TurnState = Readonly<Record<string, unknown>>;

/**
 * The hooks of a plugin, by stage. For `session`, `prompt`, `model` and `onError` the first answer wins, later-registered
 * hooks first; `runModel` of a later-registered plugin is called by those of earlier ones. In the other stages all hooks run, in order of registration, and each gets the value that the one before
 * returned.
 */
export interface Hooks {
  /** Names the session of a message. Synchronous, because it runs before the message is accepted. */
  session?(draft: InboundDraft): string | undefined;
  /** Whether a message gets a turn. */
  admit?(message: InboundMessage): HookAnswer<Decision<InboundMessage>>;
  loadState?(turn: TurnFacts): HookAnswer<TurnState>;
  /** The layers of the system prompt. */
  prompt?(turn: TurnFacts, layers: readonly string[]): HookAnswer<readonly string[]>;
  /** Which `provider/model` answers. */
  model?(turn: TurnFacts): HookAnswer<string>;
  beforeModel?(turn: TurnFacts, request: ModelRequest): HookAnswer<Decision<ModelRequest>>;
  /**
   * Stands around each model call: yields the events of the answer as a provider does, mostly those of `next(request)`. May
   * yield others, or call `next` with another request, more than once, or not at all. It has no time limit. What it yields is held
   * to the contract of `Provider`; if it throws before its first event, the model is called without it.
   */
  runModel?(
    turn: TurnFacts,
    request: ModelRequest,
    next: CallModel,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ModelEvent>;
  beforeTool?(turn: TurnFacts, call: HookedCall): HookAnswer<Decision<HookedCall>>;
  afterTool?(turn: TurnFacts, call: HookedCall, result: ToolResult): HookAnswer<Decision<ToolResult>>;
  /** Each text of the model, question to a person and sentence about a failure, before anyone sees it. */
  render?(turn: TurnFacts, text: string): HookAnswer<Decision<string>>;
  /** The sentence that people read in place of this one when a turn failed; `render` sees it after. */
  onError?(turn: TurnFacts, failure: TurnFailure): HookAnswer<string>;
  /** A message of the turn, before it is queued. */
  dispatch?(turn: TurnFacts, message: OutboundMessage): HookAnswer<Decision<OutboundMessage>>;
  /** Runs also after a failed turn. */
  saveState?(turn: TurnFacts, state: TurnState): HookAnswer<void>;
  turnEnd?(turn: TurnFacts, summary: TurnSummary): HookAnswer<void>;
}

/** A plugin's hooks, named after it. */
export interface HookSet {
  readonly owner: string;
  readonly hooks: Hooks;
  /** A guard that throws denies; an ordinary hook that throws is skipped. */
  readonly guard?: boolean;
}

export type HookName = keyof Hooks;
type DecidingHook = 'admit' | 'beforeModel' | 'beforeTool' | 'afterTool' | 'render' | 'dispatch';

/** A hook that does not answer within this time counts as failed. */
const HOOK_MS = 30_000;

/** Cap of remembered answers of `admit`. */
const MOST_ADMISSIONS = 512;

interface Registered {
  readonly owner: string;
  readonly guard: boolean;
  readonly hooks: Hooks;
}

/** The hooks of the plugins that run, until these are others. */
interface PluginHooks {
  readonly generation: number;
  readonly hooks: readonly Registered[];
}

/**
 * Calls the hooks of plugins. A hook that throws, takes more than 30 s, or returns a value of the wrong form is skipped
 * and reported; if it is a guard, it denies.
 */
export class HookRunner {
  readonly #own: Registered[] = [];
  readonly #plugins = new Held<PluginHooks>({ generation: 0, hooks: [] });
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #findings = new Map<string, Finding>();
  readonly #hung = new Set<string>();
  /** By message id, text, and which plugins ran. */
  readonly #admissions = new RecentMap<string, Promise<Admission>>(MOST_ADMISSIONS);
  #onHung: ((sentence: string) => void) | undefined;

  /** `clock`: @default the machine's */
  constructor(log: Logger, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Sets a listener that gets one sentence for each hook that did not answer in time, only the first time. */
  onHung(listener: (sentence: string) => void): void {
    this.#onHung = listener;
  }

  get #registered(): readonly Registered[] {
    return [...this.#plugins.now.hooks, ...this.#own];
  }

  /** Puts the hooks of plugins, in the order of their list, in place of those that were there; they come before all others. */
  setPlugins(
    plugins: readonly {
      readonly name: string;
      readonly hooks?: Hooks;
      readonly guard?: boolean;
    }[],
  ): void {
    const { generation, hooks: before } = this.#plugins.newest;
    for (const { owner } of before) {
      for (const known of this.#findings.keys()) if (known.startsWith(`${owner} `)) this.#findings.delete(known);
    }
    const hooks = plugins.flatMap(({ name, hooks: its, guard = false }) =>
      its === undefined ? [] : [{ owner: name, hooks: its, guard }],
    );
    this.#plugins.replace({ generation: generation + 1, hooks });
  }

  /** Does this work with the hooks that plugins have now, also when they are replaced meanwhile. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#plugins.hold(work);
  }

  register(owner: string, hooks: Hooks, options: { guard?: boolean } = {}): Disposable {
    const entry = { owner, hooks, guard: options.guard ?? false };
    this.#own.push(entry);
    return {
      [Symbol.dispose]: () => {
        const at = this.#own.indexOf(entry);
        if (at >= 0) this.#own.splice(at, 1);
      },
    };
  }

  /** Whether a hook is registered for a stage. */
  has(name: HookName): boolean {
    return this.#registered.some(({ hooks }) => hooks[name] !== undefined);
  }

  /** One sentence for each hook that failed, about its last failure. */
  findings(): readonly Finding[] {
    return [...this.#findings.values()];
  }

  session(draft: InboundDraft): string | undefined {
    for (const { owner, hooks } of this.#registered.toReversed()) {
      try {
        const key = hooks.session?.(draft);
        checkHookValue('session', key);
        if (key !== undefined) return key;
      } catch (error) {
        this.report(owner, 'session', error);
      }
    }
    return undefined;
  }

  /** The hooks of a stage with the names of their plugins, in order of registration. */
  of(name: HookName): readonly { readonly owner: string; readonly guard: boolean; readonly hooks: Hooks }[] {
    return this.#registered.filter(({ hooks }) => hooks[name] !== undefined);
  }

  /** The first answer of `prompt`, `model` or `onError`, later-registered hooks first. */
  async first<Value>(
    name: 'prompt' | 'model' | 'onError',
    call: (hooks: Hooks) => HookAnswer<Value>,
  ): Promise<Value | undefined> {
    for (const { owner, hooks } of this.#registered.toReversed()) {
      try {
        const answer = await this.#inTime(name, call(hooks));
        checkHookValue(name, answer);
        if (answer !== undefined) return answer;
      } catch (error) {
        this.report(owner, name, error);
      }
    }
    return undefined;
  }

  /** Passes a value through all hooks of a stage; the first denial ends the stage. `by`: the plugin that denied it. */
  async decide<Value>(
    name: DecidingHook,
    value: Value,
    call: (hooks: Hooks, value: Value) => HookAnswer<Decision<Value>>,
  ): Promise<{ readonly value: Value } | { readonly denied: string; readonly by: string }> {
    let current = value;
    for (const { owner, hooks, guard } of this.#registered) {
      try {
        const decision = await this.#inTime(name, call(hooks, current));
        checkHookValue(name, decision);
        if (decision?.type === 'deny') return { denied: decision.reason, by: owner };
        if (decision?.type === 'replace') current = decision.value;
      } catch (error) {
        this.report(owner, name, error);
        if (guard) return { denied: `The guard ${owner} failed, so this was not done.`, by: owner };
      }
    }
    return { value: current };
  }

  /**
   * Passes a message through the `admit` hooks. Remembered by id and text, so that a message that may not join a
   * running turn does not go through the hooks again for its own turn. After a restart, or a change of the plugins, a
   * message that no model has read does.
   */
  async admit(message: InboundMessage): Promise<Admission> {
    const key = JSON.stringify([this.#plugins.now.generation, message.id, message.text]);
    const asked = this.#admissions.get(key) ?? this.decide('admit', message, (hooks, value) => hooks.admit?.(value));
    this.#admissions.set(key, asked);
    return await asked;
  }

  async loadState(turn: TurnFacts): Promise<TurnState> {
    let state: TurnState = {};
    await this.#each('loadState', async (hooks) => {
      const loaded = await hooks.loadState?.(turn);
      checkHookValue('loadState', loaded);
      state = { ...state, ...loaded };
    });
    return state;
  }

  async saveState(turn: TurnFacts, state: TurnState): Promise<void> {
    await this.#each('saveState', (hooks) => hooks.saveState?.(turn, state));
  }

  async turnEnd(turn: TurnFacts, summary: TurnSummary): Promise<void> {
    await this.#each('turnEnd', (hooks) => hooks.turnEnd?.(turn, summary));
  }

  async #each(name: HookName, call: (hooks: Hooks) => HookAnswer<void>): Promise<void> {
    for (const { owner, hooks } of this.#registered) {
      if (hooks[name] === undefined) continue;
      try {
        await this.#inTime(name, call(hooks));
      } catch (error) {
        this.report(owner, name, error);
      }
    }
  }

  /** A plugin may bring promises of its own kind, which are awaited like any other; other answers need no deadline. */
  async #inTime<T>(hook: HookName, answer: T | Promise<T>): Promise<T> {
    if (!(answer instanceof Object) || !('then' in answer)) return answer;
    using limit = deadline(this.#clock, HOOK_MS, `the hook ${hook}`);
    return await raceAbort(Promise.resolve(answer), limit.signal);
  }

  /** Reports that a hook failed: in the status, in the log, and to the owner if it hangs. */
  report(owner: string, hook: HookName, error: unknown): void {
    const reason = thrownLine(error);
    this.#findings.set(`${owner} ${hook}`, {
      id: 'plugins.there',
      ...warning(`The hook ${hook} of the plugin "${owner}" failed and was skipped: ${reason}.`),
      facts: { plugin: owner },
    });
    this.#log.error('hooks: a hook failed and was skipped', { plugin: owner, hook, reason });
    if (!(error instanceof DeadlineError) || this.#hung.has(`${owner} ${hook}`)) return;
    this.#hung.add(`${owner} ${hook}`);
    this.#onHung?.(
      `The plugin "${owner}" did not answer within ${HOOK_MS / 1_000} seconds when its hook ${hook} was called. Messages continue without it, but each may wait that long; if it is a guard, what it should have checked is refused. Look at the log, or remove the plugin from "plugins" in config.json.`,
    );
  }
}
