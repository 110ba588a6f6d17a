import type { ModelMessage, ToolSpec, UserPart } from '../../providers/provider.ts';
import type { History } from '../../session/history.ts';
import { RecentMap } from '../../util/recent-map.ts';

/** Tokenizers differ; bytes tell more than characters where scripts differ. */
const BYTES_PER_TOKEN = 3.6;
/** Roles and separators of one message. */
const MESSAGE_TOKENS = 4;
/** An image counts by its area, not by its bytes; this is a large one. */
export const IMAGE_TOKENS = 1600;

function tokensOfText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Tokens before calibration. */
export function tokensOfMessage(message: ModelMessage): number {
  switch (message.role) {
    case 'user':
      return MESSAGE_TOKENS + sum(message.content, tokensOfPart);
    case 'tool':
      return MESSAGE_TOKENS + tokensOfText(message.output) + (message.images ?? []).length * IMAGE_TOKENS;
    case 'assistant':
      return (
        MESSAGE_TOKENS +
        sum(message.content, (part) => {
          if (part.type === 'text') return tokensOfText(part.text);
          if (part.type === 'tool-call') return MESSAGE_TOKENS + tokensOfText(part.name) + tokensOfText(part.arguments);
          return tokensOfText(part.data === null ? part.text : JSON.stringify(part.data));
        })
      );
  }
}

function tokensOfPart(part: UserPart): number {
  return part.type === 'image' ? IMAGE_TOKENS : tokensOfText(part.text);
}

function sum<Item>(items: readonly Item[], size: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += size(item);
  return total;
}

const frameSizes = new WeakMap<object, number>();

/** System prompt and tools: what every request of a session begins with. Both are the same objects for many requests. */
export function tokensOfFrame(system: readonly string[], tools: readonly ToolSpec[]): number {
  const size = (of: object, measure: () => number): number => {
    const known = frameSizes.get(of) ?? measure();
    frameSizes.set(of, known);
    return known;
  };
  return size(tools, () => tokensOfText(JSON.stringify(tools))) + size(system, () => sum(system, tokensOfText));
}

/**
 * The sizes of a session's messages. A history that grew is measured from where it grew: what stands before is the same
 * objects, unless a trim, an anchor, a retract or a reset changed it.
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

/** Shorter prompts say too little of a model's tokenizer. */
const LEAST_TO_LEARN = 500;
/** No server is known that cuts prompts shorter than this. */
const LEAST_TO_SUSPECT = 3000;
const SUSPICIOUS_SHARE = 0.7;
/** A count further off does not come from a tokenizer. */
const PLAUSIBLE = { least: 0.25, most: 4 };
const RATIO = { least: 0.4, most: 2.5 };

/** How a model's tokens relate to the estimate, by what the provider last counted. */
export class Calibration {
  readonly #ratios = new RecentMap<string, number>(256);

  ratio(modelRef: string): number {
    return this.#ratios.get(modelRef) ?? 1;
  }

  /**
   * Learns from a prompt that was estimated, before calibration, and counted by the provider. True when so little was
   * counted that the server seems to have cut the prompt; nothing is learned from that.
   */
  observe(modelRef: string, estimate: number, counted: number): boolean {
    const calibrated = estimate * this.ratio(modelRef);
    if (calibrated >= LEAST_TO_SUSPECT && counted < SUSPICIOUS_SHARE * calibrated) return true;
    const ratio = counted / estimate;
    if (estimate >= LEAST_TO_LEARN && ratio >= PLAUSIBLE.least && ratio <= PLAUSIBLE.most) {
      this.#ratios.set(modelRef, Math.min(RATIO.most, Math.max(RATIO.least, ratio)));
    }
    return false;
  }
}
