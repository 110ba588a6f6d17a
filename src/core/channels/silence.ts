import { untilNextLook, type Clock } from '../util/clock.ts';
import { ChannelError, type ChannelHealth } from './channel.ts';

/** Interval of the check whether a channel still receives from its platform. */
const WATCH_MS = 30_000;

interface Watched {
  readonly health: () => ChannelHealth;
  readonly fail: (error: ChannelError) => void;
}

/** Fails a channel that received nothing for `quietMs`, because a connection can be dead without an error. */
export function watchSilence(clock: Clock, { health, fail }: Watched): Disposable {
  let timer: Disposable;
  let newest: number | undefined;
  let heardAt = clock.monotonic();
  let lookedAt = heardAt;
  const look = (): void => {
    timer = clock.timer(untilNextLook(clock, WATCH_MS), look);
    const { state, lastInboundAt, quietMs = Infinity } = health();
    const now = clock.monotonic();
    if (lastInboundAt === undefined) heardAt = now;
    else if (lastInboundAt !== newest) {
      // The wall clock may have been changed, but it was certainly after the last check.
      const age = Math.min(Math.max(clock.now() - lastInboundAt, 0), now - lookedAt);
      newest = lastInboundAt;
      heardAt = now - age;
    }
    lookedAt = now;
    if (state !== 'running' || now - heardAt <= quietMs) return;
    const seconds = Math.round((now - heardAt) / 1_000);
    fail(new ChannelError(`nothing was heard of the platform for ${seconds} s`, { retry: true }));
  };
  timer = clock.timer(untilNextLook(clock, WATCH_MS), look);
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
