import type { OutboundEvent } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { deadline, type Clock } from '../../util/clock.ts';
import type { Outlets } from './next-part.ts';

/** Typing is shown only if the turn takes longer than this. */
const FIRST_MS = 200;
const EVERY_MS = 4_000;
const SILENCE_MS = 5 * 60_000;
const CALL_DEADLINE_MS = 10_000;
/** Made once, because making an error with its stack is slow. */
const OVER = new Error('the turn is over');
/** Ended turns that are remembered, so that a late event does not show typing again. */
const ENDED_CAP = 256;

/** A chat in which at least one turn runs. */
interface Lease {
  readonly chat: { readonly channel: string; readonly chatId: string; readonly threadId?: string };
  readonly turns: Set<string>;
  readonly over: AbortController;
  lastEventAt: number;
  timer: Disposable | undefined;
}

/** Shows "typing" in a chat from a turn's first live event until it ends, or is silent for 5 minutes. Disposing ends all. */
export function startTyping({ bus, channels, clock }: App): Disposable {
  const leases = new Map<string, Lease>();
  const ended = new Set<string>();

  const end = (key: string, lease: Lease): void => {
    lease.timer?.[Symbol.dispose]();
    lease.over.abort(OVER);
    leases.delete(key);
  };

  const beat = (key: string, lease: Lease): void => {
    if (clock.monotonic() - lease.lastEventAt >= SILENCE_MS) {
      end(key, lease);
      return;
    }
    lease.timer = clock.timer(EVERY_MS, () => beat(key, lease));
    const channel = channels.manager.outlet(lease.chat.channel);
    if (typeof channel !== 'string') void showTyping(channel, lease, clock);
  };

  const hear = (event: OutboundEvent): void => {
    const { channel, chatId, threadId, turnId } = event;
    const key = JSON.stringify([channel, chatId, threadId]);
    const lease = leases.get(key);
    if (event.type === 'turn-end') {
      remember(ended, turnId);
      lease?.turns.delete(turnId);
      if (lease?.turns.size === 0) end(key, lease);
      return;
    }
    if (ended.has(turnId)) return;
    if (lease !== undefined) {
      lease.turns.add(turnId);
      lease.lastEventAt = clock.monotonic();
      return;
    }
    const chat = { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
    const fresh: Lease = {
      chat,
      turns: new Set([turnId]),
      over: new AbortController(),
      lastEventAt: clock.monotonic(),
      timer: undefined,
    };
    leases.set(key, fresh);
    fresh.timer = clock.timer(FIRST_MS, () => beat(key, fresh));
  };

  const listening = bus.listen(hear);
  return {
    [Symbol.dispose]: () => {
      listening[Symbol.dispose]();
      for (const [key, lease] of leases) end(key, lease);
    },
  };
}

async function showTyping(
  channel: Exclude<ReturnType<Outlets['outlet']>, string>,
  { chat, over }: Lease,
  clock: Clock,
): Promise<void> {
  using limit = deadline(clock, CALL_DEADLINE_MS, 'Showing typing');
  try {
    await channel.typing?.(chat, AbortSignal.any([over.signal, limit.signal]));
  } catch {
    // Without "typing" nothing else fails.
  }
}

function remember(ended: Set<string>, turnId: string): void {
  ended.add(turnId);
  if (ended.size <= ENDED_CAP) return;
  const [oldest] = ended;
  if (oldest !== undefined) ended.delete(oldest);
}
