import type { App } from '../app.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { mayJoin, sameChat } from './joining.ts';

/** How long to wait for the next piece of a split paste, an album or several forwards. */
const NEXT_PIECE_MS = 800;
/** The same for an album whose name is known: its parts are uploaded one after the other. */
const NEXT_PART_MS = 2_000;
/** No message is held back longer than this, and no album. */
const LONGEST_HOLD_MS = 3_000;
const LONGEST_ALBUM_MS = 10_000;
/** At most this many messages begin a turn together. */
export const BATCH_MOST = 10;

/** What happens to a message that arrives during a turn of its session. */
export const BUSY_MODES = ['steer', 'queue', 'interrupt'] as const;
export type BusyMode = (typeof BUSY_MODES)[number];

/** Null: no mode has this name. */
export function busyModeOf(name: string | null): BusyMode | null {
  return BUSY_MODES.find((mode) => mode === name) ?? null;
}

/** What a new message does to a running turn of its session now. */
export function busyMode({ journal, config }: App, sessionKey: string): BusyMode {
  return busyModeOf(journal.settings.whenBusy(sessionKey)) ?? config.agent.whenBusy;
}

export interface BurstSettings {
  /** The mode that holds for a session now. */
  readonly whenBusy: (sessionKey: string) => BusyMode;
  /** How long each message waits for further ones. */
  readonly debounceMs: number;
  /** How long a group message of this channel waits for further ones. */
  readonly groupDebounceMs: (channel: string) => number;
}

/** What the settings say now. */
export function burstsOf(app: App): BurstSettings {
  const { agent, channels } = app.config;
  return {
    whenBusy: (sessionKey) => busyMode(app, sessionKey),
    debounceMs: agent.debounceMs,
    groupDebounceMs: (channel) => channels[channel]?.groups.debounceMs ?? 0,
  };
}

/** The messages with which the next turn of a session begins. */
export interface Batch {
  readonly messages: readonly InboundMessage[];
  /** 0: begin now. Else wait for this time and call `nextBatch` again. */
  readonly waitMs: number;
}

/**
 * Decides which of a session's waiting messages (oldest first) begin its next turn together: the pieces of a burst, and,
 * unless the settings want a turn for each, all messages that came while the session was busy. A message is held back only
 * if more pieces of its burst are likely. `heldMs`: how long it was held back already. Pure.
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
    const isSameAlbum = albumOf(before) !== undefined && albumOf(before) === albumOf(message);
    const follows = isSameAlbum || (quiet > 0 && message.receivedAt - before.receivedAt <= quiet);
    const together = follows || settings.whenBusy(first.sessionKey) !== 'queue';
    if (!together || message.role !== first.role || !sameChat(first, message) || !mayJoin(first, message)) break;
    messages.push(message);
  }
  const last = messages.at(-1) ?? first;
  const complete = messages.length < waiting.length || messages.length === BATCH_MOST;
  if (complete) return { messages, waitMs: 0 };
  const isAlbum = albumOf(last) !== undefined;
  // After a restart the platform sends the other parts of an album again, whatever time has passed.
  const sinceLast = Math.max(0, isAlbum ? Math.min(heldMs, now - last.receivedAt) : now - last.receivedAt);
  const longest = isAlbum ? LONGEST_ALBUM_MS : LONGEST_HOLD_MS;
  const waitMs = Math.min(quietAfter(last, settings) - sinceLast, longest - heldMs);
  return { messages, waitMs: Math.max(0, waitMs) };
}

/** Ms after this message within which another piece of its burst is likely. */
function quietAfter(message: InboundMessage, settings: BurstSettings): number {
  const piece = message.metadata['burst'] === undefined ? 0 : NEXT_PIECE_MS;
  const marked = albumOf(message) === undefined ? piece : NEXT_PART_MS;
  const group = message.chatType === 'group' ? settings.groupDebounceMs(message.channel) : 0;
  return Math.max(marked, group, settings.debounceMs);
}

/** The platform's name of the album that a message is a part of. */
function albumOf({ metadata }: InboundMessage): string | undefined {
  return typeof metadata['album'] === 'string' ? metadata['album'] : undefined;
}

/** The sessions whose next turn is held back until further messages may have come. */
export class Debounce {
  readonly #clock: Clock;
  readonly #held = new Map<string, AbortController>();
  #over = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms`, or when `wake` is called for the session, or at once after `end`. */
  async wait(session: string, ms: number): Promise<void> {
    if (this.#over) return;
    const woken = new AbortController();
    this.#held.set(session, woken);
    await sleep(this.#clock, ms, woken.signal).catch(() => {});
    this.#held.delete(session);
  }

  isWaiting(session: string): boolean {
    return this.#held.has(session);
  }

  wake(session: string): void {
    this.#held.get(session)?.abort();
  }

  /** Ends all waits, now and later. */
  end(): void {
    this.#over = true;
    for (const woken of this.#held.values()) woken.abort();
  }
}
