import { tokensOfMessage } from '../../providers/token-estimate.ts';
import type { History } from '../../session/history.ts';
import { RecentMap } from '../../util/recent-map.ts';

export { IMAGE_TOKENS, tokensOfFrame, tokensOfMessage } from '../../providers/token-estimate.ts';

/**
 * The token estimates of a session's messages. When the history grows, only the new messages are measured: the earlier
 * ones are the same objects, unless a trim, anchor, retract or reset changed them.
 */
export class HistorySizes {
  #measured: History | undefined;
  readonly #sizes: number[] = [];
  #total = 0;

  /** Tokens before calibration. */
  measure(history: History): { readonly total: number; readonly sizes: readonly number[] } {
    if (history !== this.#measured) this.#extend(history, this.#measured);
    this.#measured = history;
    return { total: this.#total, sizes: this.#sizes };
  }

  #extend({ messages }: History, before: History | undefined): void {
    const differs = before?.messages.findIndex((item, at) => item !== messages[at]) ?? 0;
    const kept = differs === -1 ? this.#sizes.length : differs;
    for (const size of this.#sizes.splice(kept)) this.#total -= size;
    for (const { message } of messages.slice(kept)) {
      const size = tokensOfMessage(message);
      this.#sizes.push(size);
      this.#total += size;
    }
  }
}

/** Shorter prompts say too little about a model's tokenizer. */
const LEAST_TO_LEARN = 500;
/** Prompts shorter than this are not suspected of being cut by the server. */
const LEAST_TO_SUSPECT = 3000;
const SUSPICIOUS_SHARE = 0.7;
/** Ratios of count to estimate outside of this do not come from a tokenizer and are ignored. */
const PLAUSIBLE = { least: 0.25, most: 4 };
const RATIO = { least: 0.4, most: 2.5 };

/** Whether a count is so much lower than the estimate that a part of the prompt wasn't read. */
export function isSuspicious(counted: number, estimate: number): boolean {
  return counted < SUSPICIOUS_SHARE * estimate;
}

/** The ratio of a provider's token counts to the estimates, for each model. */
export class Calibration {
  readonly #ratios = new RecentMap<string, number>(256);

  ratio(modelRef: string): number {
    return this.#ratios.get(modelRef) ?? 1;
  }

  /**
   * Learns from an estimate (before calibration) and the provider's count of the same prompt. True if the count is so
   * low that the server seems to have cut the prompt; nothing is learned then.
   */
  observe(modelRef: string, estimate: number, counted: number): boolean {
    const calibrated = estimate * this.ratio(modelRef);
    if (calibrated >= LEAST_TO_SUSPECT && isSuspicious(counted, calibrated)) return true;
    const ratio = counted / estimate;
    if (estimate >= LEAST_TO_LEARN && ratio >= PLAUSIBLE.least && ratio <= PLAUSIBLE.most) {
      this.#ratios.set(modelRef, Math.min(RATIO.most, Math.max(RATIO.least, ratio)));
    }
    return false;
  }
}
