import { ChannelError, backoffMs } from '../../core/api-channels.ts';
import { raceAbort, sleep, type Clock, type Logger, type Random } from '../../core/api.ts';
import { appTokenRefused, callFailure, isTokenRefused } from './errors.ts';
import type { SlackSocket, SocketEnd } from './socket.ts';

const RETRY = { firstMs: 500, maxMs: 30_000 };
const TOO_MANY_WAIT_MS = 30_000;
/** A socket that lived shorter than this does not begin the backoff anew. */
const STEADY_MS = 5_000;
/** After this many ms without any data the socket is replaced. Slack repeats unacknowledged events after 5 minutes. */
const QUIET_MS = 240_000;

export interface KeepConnectedPorts {
  readonly name: string;
  readonly open: (signal: AbortSignal) => Promise<SlackSocket>;
  /** Undefined: all is well. */
  readonly report: (trouble: string | undefined) => void;
  /** There is no socket any more; told once, before `connected`. */
  readonly lost: () => void;
  /** There is a socket, the first one or another after a loss. */
  readonly connected: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Keeps one socket open until `signal` aborts (null), or until a person has to do something. Where Slack says that it
 * will close a socket the next one is open before; never are there more than two. An old socket that Slack does not close
 * in time may have been dead for a while, so it counts as lost.
 */
export async function keepConnected(
  ports: KeepConnectedPorts,
  first: SlackSocket,
  signal: AbortSignal,
): Promise<ChannelError | null> {
  const { clock, log } = ports;
  let socket = first;
  let openedAt = clock.monotonic();
  let failures = 0;
  try {
    ports.connected();
    first.release();
    while (!signal.aborted) {
      const end = await endOf(socket, clock, signal);
      log.debug('slack: socket replaced', { reason: end });
      if (end === 'switched-off') return switchedOff(ports.name);
      if (clock.monotonic() - openedAt >= STEADY_MS) failures = 0;
      let isLost = false;
      const noteLoss = (): void => {
        if (isLost || socket.isOpen()) return;
        isLost = true;
        ports.lost();
      };
      noteLoss();
      if (end === 'too-many') ports.report(TOO_MANY);
      else if (isLost) ports.report('The connection to Slack was lost');
      let next: SlackSocket | null = null;
      while (next === null) {
        const waitMs = end === 'too-many' && failures === 0 ? TOO_MANY_WAIT_MS : pauseMs(failures, ports);
        if (waitMs > 0) await sleep(clock, waitMs, signal);
        failures += 1;
        noteLoss();
        const opened = await tryOpen(ports, signal);
        if (opened instanceof ChannelError) return opened;
        next = opened;
        noteLoss();
      }
      // What Slack had sent over the old socket comes before anything from the new one.
      const isWhole = await socket.close();
      if (!isWhole && !isLost) {
        isLost = true;
        ports.lost();
      }
      socket = next;
      openedAt = clock.monotonic();
      ports.report(undefined);
      if (isLost) ports.connected();
      socket.release();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await socket.close();
  }
  return null;
}

const TOO_MANY =
  'Slack says that too many programs are connected with this app-level token: stop the others, or give this assistant an app of its own';

async function endOf(socket: SlackSocket, clock: Clock, signal: AbortSignal): Promise<SocketEnd> {
  for (;;) {
    const left = QUIET_MS - (clock.monotonic() - socket.heardAt());
    if (left <= 0) return 'refresh';
    const waiting = new AbortController();
    const quiet = sleep(clock, left, AbortSignal.any([signal, waiting.signal])).then(
      () => null,
      () => null,
    );
    const end = await raceAbort(Promise.race([socket.ended, quiet]), signal);
    waiting.abort();
    if (end !== null) return end;
  }
}

function pauseMs(failures: number, { random }: KeepConnectedPorts): number {
  return failures === 0 ? 0 : backoffMs(failures, RETRY, random);
}

/** Null: not now. */
async function tryOpen(ports: KeepConnectedPorts, signal: AbortSignal): Promise<SlackSocket | ChannelError | null> {
  try {
    return await ports.open(signal);
  } catch (error) {
    signal.throwIfAborted();
    const failure = callFailure(error);
    if (isAppTokenRefused(error)) return appTokenRefused(ports.name, failure);
    ports.report(failure.reason);
    ports.log.warn('slack: connect failed', { reason: failure.reason });
    if (failure.retryAfterMs !== undefined) await sleep(ports.clock, failure.retryAfterMs, signal);
    return null;
  }
}

/** Also a token that is good for something else, or lacks its scope. */
export function isAppTokenRefused(error: unknown): boolean {
  const failure = callFailure(error);
  return isTokenRefused(failure) || failure.code === 'not_allowed_token_type' || failure.code === 'missing_scope';
}

function switchedOff(name: string): ChannelError {
  return new ChannelError(
    `Socket Mode is switched off for the app of channel "${name}": switch it on under "Socket Mode" of your app at api.slack.com/apps and start again.`,
    { retry: false },
  );
}
