import { type Finding, warning } from '../../util/finding.ts';
import type { App } from '../../app.ts';
import { SMALL_WINDOW, type ContextWindows } from '../../providers/context-window-registry.ts';
import type { ModelError, ModelName, ToolSpec } from '../../providers/provider.ts';
import type { Session } from '../../session/session.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { Usage } from '../../util/token-usage.ts';
import { sizeOfWindow, type WindowSize } from './window-size.ts';
import { Calibration, HistorySizes, isSuspicious, tokensOfFrame } from './token-estimate.ts';
import { planTrim } from './trimming.ts';
import { countText } from '../../util/text.ts';

/** What the next request will contain. */
export interface Outline {
  readonly session: Session;
  readonly turnId: string;
  readonly model: ModelName;
  readonly system: readonly string[];
  readonly tools: readonly ToolSpec[];
}

/** How full a session's context is. */
export interface ContextReport {
  /** Estimated tokens of a request. */
  readonly used: number;
  /** Tokens that the model can read. */
  readonly window: number;
  /** From 0 to 1. */
  readonly share: number;
  /** Tokens left for the conversation beside the system prompt, the tools and the answer. */
  readonly space: number;
  /** Estimated tokens of each layer of the system prompt, of the tools, of the conversation. */
  readonly layers: readonly number[];
  readonly tools: number;
  readonly history: number;
}

/** A trim reduces the conversation to this share of its space, so that trims are rare. */
const TRIM_TO = 0.6;
/** After the model refused a request as too long: the share of it to trim to. */
const TRIM_TO_AFTER_REFUSAL = 0.5;
/** Share of the window kept free because estimates may be wrong. */
const MARGIN = 0.02;
/** Least tokens of an answer. */
const LEAST_ANSWER = 512;
/** Below this window, tokens, an answer has at most a quarter of it, else half. */
const SHORT_ANSWERS = 32_768;

/** Least tokens for the conversation; with fewer, little more than the newest message fits. */
export const LEAST_SPACE = 2_000;

/** A warning for a person when the prompt and the tools leave too little of the window; null when there is room. */
export function tooSmall(model: string, { window, space }: ContextReport): Finding | null {
  if (space >= LEAST_SPACE) return null;
  const [has, left, needed] = [window, space, window + LEAST_SPACE - space].map(countText);
  return {
    id: 'model.window',
    ...warning(
      `The context window of ${model} is ${has} tokens, of which the system prompt, the tools and the answer leave ${left} for the conversation; it needs at least ${countText(LEAST_SPACE)}, so I forget quickly what was said.`,
      `Choose a model with a larger window (agent.model), set agent.contextWindow to at least ${needed} if this one reads more, or send it less (tools.deny, agent.maxOutputTokens)`,
    ),
    facts: { model },
  };
}

const NONE: readonly never[] = [];

interface Measured {
  /** Tokens before calibration. */
  readonly raw: number;
  readonly ratio: number;
  /** Tokens. */
  readonly total: number;
  /** Tokens of the system prompt and the tools. */
  readonly frame: number;
  /** Tokens of the tools. */
  readonly tools: number;
  readonly sizes: readonly number[];
}

/**
 * Keeps requests within the context window of their model: estimates them, and trims the history when they get too
 * long.
 */
export class ContextWindow {
  readonly #app: App;
  readonly #windows: ContextWindows;
  readonly #sizes = new WeakMap<Session, HistorySizes>();
  readonly #calibration = new Calibration();
  /** By model: estimated tokens of the last request that it refused as too long. */
  readonly #refused = new RecentMap<string, number>(256);
  readonly #suspected = new Set<string>();

  constructor(app: App, windows: ContextWindows) {
    this.#app = app;
    this.#windows = windows;
  }

  /**
   * Trims the session when the next request would exceed its budget; returns the most tokens that its answer may
   * have. Throws only when the tape cannot be written.
   */
  async fit(outline: Outline): Promise<number> {
    const windows = this.#windows;
    const { maxOutputTokens } = this.#app.config.agent;
    const measured = this.#measure(outline);
    const window = await windows.of(outline.model, measured.total + maxOutputTokens);
    const most = this.#mostOutput(outline.model, window, measured.frame);
    const budget = this.#budget(outline.model, window, measured.frame);
    if (measured.total > budget) await this.#trim(outline, measured, trimmedTo(budget, measured));
    return most;
  }

  /** Tokens of the next request, roughly. */
  estimate(outline: Outline): number {
    return this.#measure(outline).total;
  }

  /** How much this model reads at once. Never throws. */
  async size(model: ModelName): Promise<WindowSize> {
    return sizeOfWindow(await this.#windows.of(model, SMALL_WINDOW));
  }

  /** Whether the next request would need a trim. */
  async overflows(outline: Omit<Outline, 'turnId'>): Promise<boolean> {
    const window = await this.#windows.of(outline.model);
    const { total, frame } = this.#measure(outline);
    return total > this.#budget(outline.model, window, frame);
  }

  /** Looks up the context window of a model in the background. */
  prepare(model: ModelName): void {
    void this.#windows.of(model);
  }

  /**
   * Call when the model refused a request as too long: trims to what fits into the window that the refusal named, else to
   * half of the request. False when nothing is left to trim.
   */
  async tighten(outline: Outline): Promise<boolean> {
    const measured = this.#measure(outline);
    const window = this.#windows.named(outline.model);
    if (window !== null) {
      const target = trimmedTo(this.#budget(outline.model, window, measured.frame), measured);
      if (target < measured.total) return await this.#trim(outline, measured, target);
    }
    this.#refused.set(refOf(outline.model), measured.total);
    return await this.#trim(outline, measured, TRIM_TO_AFTER_REFUSAL * measured.total);
  }

  /** Call when a refusal named the window of the model, tokens, and perhaps what it counted in the request. */
  learn(outline: Outline, { tokens, asked }: NonNullable<ModelError['window']>): void {
    this.#windows.learn(outline.model, tokens);
    const { raw } = this.#measure(outline);
    // A count this far from the estimate can't be of this request.
    if (asked !== undefined && asked < raw * 4) this.#calibration.observe(refOf(outline.model), raw, asked);
  }

  /** Calibrates the estimates with the provider's token count of the last request. */
  observe(outline: Outline, answeredBy: ModelName, { input }: Usage): void {
    const { raw, total, tools } = this.#measure({ ...outline, model: answeredBy });
    const ref = refOf(answeredBy);
    if (input > (this.#refused.get(ref) ?? Infinity)) this.#refused.delete(ref);
    if (!this.#calibration.observe(ref, raw, input) || this.#suspected.has(ref)) return;
    if (this.#suspected.size < 256) this.#suspected.add(ref);
    const cut = `cut long prompts silently; raise its context length, or set models."${ref}".contextWindow to the one it has`;
    // Both can hold when the missing tokens are no more than those of the tools.
    const isOfTools = tools > 0 && !isSuspicious(input, total - tools);
    const why = isOfTools
      ? `its chat template may leave out the tools (about ${tools}), or its server may ${cut}`
      : `it seems to ${cut}`;
    this.#app.log.warn(`context: ${ref} counted ${input} tokens in a prompt of about ${total}: ${why}`, {
      model: ref,
      counted: input,
      estimated: total,
    });
  }

  async report(outline: Omit<Outline, 'turnId'>): Promise<ContextReport> {
    const { model, system } = outline;
    const window = await this.#windows.of(model);
    const { total: used, ratio, frame, sizes, tools: ofTools } = this.#measure(outline);
    const calibrated = (raw: number): number => Math.ceil(raw * ratio);
    return {
      used,
      window,
      share: used / window,
      space: Math.max(0, Math.floor(this.#budget(model, window, frame)) - frame),
      layers: system.map((layer) => calibrated(tokensOfFrame([layer], []))),
      tools: ofTools,
      history: calibrated(sizes.reduce((sum, size) => sum + size, 0)),
    };
  }

  #measure({ session, model, system, tools }: Omit<Outline, 'turnId'>): Measured {
    let known = this.#sizes.get(session);
    if (known === undefined) {
      known = new HistorySizes();
      this.#sizes.set(session, known);
    }
    const { total, sizes } = known.measure(session.history());
    const offered = this.#windows.takesTools(model) ? tools : NONE;
    const fixed = tokensOfFrame(system, offered);
    const raw = total + fixed;
    const ratio = this.#calibration.ratio(refOf(model));
    const calibrated = (tokens: number): number => Math.ceil(tokens * ratio);
    return {
      raw,
      ratio,
      total: calibrated(raw),
      frame: calibrated(fixed),
      tools: calibrated(tokensOfFrame(NONE, offered)),
      sizes,
    };
  }

  /** Of an answer. Where the window is small it gives way to the conversation. `frame`: tokens of the prompt and the tools. */
  #mostOutput(model: ModelName, window: number, frame: number): number {
    const windows = this.#windows;
    const { maxOutputTokens } = this.#app.config.agent;
    const rest = window * (1 - MARGIN) - frame - LEAST_SPACE;
    const most = Math.min(maxOutputTokens, windows.mostOutput(model) ?? Infinity, Math.max(LEAST_ANSWER, rest));
    return Math.max(1, Math.floor(Math.min(most, window * answerShare(window))));
  }

  /** Tokens that a request may have. A refusal of a much shorter request is ignored: length was not its reason. */
  #budget(model: ModelName, window: number, frame: number): number {
    const budget = window - this.#mostOutput(model, window, frame) - MARGIN * window;
    const refused = this.#refused.get(refOf(model));
    return refused !== undefined && refused > budget / 2 ? Math.min(budget, 0.9 * refused) : budget;
  }

  async #trim({ session, turnId }: Outline, measured: Measured, target: number): Promise<boolean> {
    const plan = planTrim({
      history: session.history(),
      sizes: measured.sizes,
      entries: session.window,
      currentTurn: turnId,
      excess: (measured.total - target) / measured.ratio,
    });
    if (plan === null) return false;
    const { saves, ...cuts } = plan;
    await session.append([{ kind: 'trim', turn: null, ...cuts }]);
    this.#app.log.info('context: old parts of a conversation trimmed', {
      session: session.key,
      before: measured.total,
      after: Math.ceil(measured.total - saves * measured.ratio),
      results: cuts.stubUpTo !== null,
      images: cuts.imagesUpTo !== null,
      turns: cuts.dropUpTo !== null,
    });
    return true;
  }
}

/** Tokens to which a request that exceeds its budget is trimmed. */
function trimmedTo(budget: number, { frame }: Pick<Measured, 'frame'>): number {
  return frame + TRIM_TO * Math.max(0, budget - frame);
}

/** The share of a window that an answer has at most. */
function answerShare(window: number): number {
  return window < SHORT_ANSWERS ? 0.25 : 0.5;
}

function refOf({ provider, model }: ModelName): string {
  return `${provider}/${model}`;
}
