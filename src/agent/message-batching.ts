import type { InboundMessage } from '../bus/messages.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { mayJoin, sameChat } from './joining.ts';

/** How long the next piece of a split paste, an album or a row of forwards may take. */
const NEXT_PIECE_MS = 800;
/** No message waits longer than this for others. */
const LONGEST_HOLD_MS = 3_000;
/** Most messages that begin a turn together. */
export const BATCH_MOST = 10;

export interface BurstSettings {
  readonly whenBusy: 'steer' | 'queue' | 'interrupt';
  /** Every message waits so long for more, ms. */
  readonly debounceMs: number;
  /** Messages in groups of this channel wait so long for more, ms. */
  readonly groupDebounceMs: (channel: string) => number;
}

/** What the next turn of a session begins with. */
export interface Batch {
  readonly messages: readonly InboundMessage[];
  /** Wait so long for more, then look again; 0: begin now. */
  readonly waitMs: number;
}

/**
 * Decides which of a session's waiting messages, oldest first, begin its next turn together. Pieces of a burst belong
 * together; so do, unless each is to have its own turn, all that people wrote while the session was busy. Only a
 * message that is probably not the last of its burst is held back. `heldMs`: how long it was already.
 */
export function nextBatch(
  waiting: readonly InboundMessage[],
  { now, heldMs, settings }: { now: number; heldMs: number; settings: BurstSettings },
): Batch {
  const [first] = waiting;
  if (first?.origin !== 'user') return { messages: waiting.slice(0, 1), waitMs: 0 };
  const messages = [first];
  for (const message of waiting.slice(1, BATCH_MOST)) {
    const before = messages.at(-1) ?? first;
    const quiet = quietAfter(before, settings);
    const follows = quiet > 0 && message.receivedAt - before.receivedAt <= quiet;
    const together = follows || settings.whenBusy !== 'queue';
    if (!together || message.role !== first.role || !sameChat(first, message) || !mayJoin(first, message)) break;
    messages.push(message);
  }
  const last = messages.at(-1) ?? first;
  const complete = messages.length < waiting.length || messages.length === BATCH_MOST;
  if (complete) return { messages, waitMs: 0 };
  const sinceLast = Math.max(0, now - last.receivedAt);
  const waitMs = Math.min(quietAfter(last, settings) - sinceLast, LONGEST_HOLD_MS - heldMs);
  return { messages, waitMs: Math.max(0, waitMs) };
}

/** How long after this message more of the same is likely, ms. */
function quietAfter(message: InboundMessage, settings: BurstSettings): number {
  const marked = message.metadata['burst'] === undefined ? 0 : NEXT_PIECE_MS;
  const group = message.chatType === 'group' ? settings.groupDebounceMs(message.channel) : 0;
  return Math.max(marked, group, settings.debounceMs);
}

/** Sessions whose next turn waits a moment for more. */
export class Debounce {
  readonly #clock: Clock;
  readonly #held = new Map<string, AbortController>();
  #over = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms`, or earlier when something new came for the session. */
  async wait(session: string, ms: number): Promise<void> {
    if (this.#over) return;
    const woken = new AbortController();
    this.#held.set(session, woken);
    await sleep(this.#clock, ms, woken.signal).catch(() => {});
    this.#held.delete(session);
  }

  wake(session: string): void {
    this.#held.get(session)?.abort();
  }

  /** Nothing is held back any more. */
  end(): void {
    this.#over = true;
    for (const woken of this.#held.values()) woken.abort();
  }
}
