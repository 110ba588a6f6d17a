import { SocketModeReceiver } from '@slack/bolt';
import * as z from 'zod';
import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import type { SlackOptions } from './options.ts';
import { clientOptions, quietLogger } from './web-client.ts';

const HELLO_DEADLINE_MS = 15_000;
const CLOSE_DEADLINE_MS = 1_000;
/** A line that answers no ping for so long is dead. */
const PONG_DEADLINE_MS = 4_000;

/** Something that Slack brought, to be acknowledged once it is safe. */
export interface Envelope {
  /** `events_api`, `interactive`, `slash_commands`. */
  readonly type: string;
  readonly body: unknown;
  readonly retryNum: number | undefined;
  /** Rejects when the socket is gone; Slack then brings it again. */
  readonly ack: () => Promise<void>;
}

/** Why a socket is not enough any more. After `refresh` and `too-many` it may still be open for a while. */
export type SocketEnd = 'refresh' | 'too-many' | 'switched-off' | 'lost';

/** One connection over which Slack brings events. */
export interface SlackSocket {
  /** The first reason to replace it. */
  readonly ended: Promise<SocketEnd>;
  readonly isOpen: () => boolean;
  /** When anything came over it, by `Clock.monotonic`. */
  readonly heardAt: () => number;
  /** Resolves within 2 s, whatever the other end does. */
  readonly close: () => Promise<void>;
}

export interface SocketPorts {
  readonly options: Pick<SlackOptions, 'appToken' | 'apiUrl'>;
  readonly onEnvelope: (envelope: Envelope) => void;
  readonly clock: Clock;
}

const farewell = z.object({ type: z.literal('disconnect'), reason: z.string().default('') });
const envelope = z.object({
  type: z.string(),
  body: z.unknown(),
  retry_num: z.number().optional().catch(undefined),
  ack: z.custom<() => Promise<void>>((value) => typeof value === 'function'),
});

/** Opens a socket; resolves at Slack's hello. Rejects with the error of the Web API, or when there is no hello in time. */
export async function openSocket(
  { options, onEnvelope, clock }: SocketPorts,
  signal: AbortSignal,
): Promise<SlackSocket> {
  const { client } = new SocketModeReceiver({
    appToken: options.appToken,
    autoReconnectEnabled: false,
    clientPingTimeout: PONG_DEADLINE_MS,
    logger: quietLogger(),
    installerOptions: { clientOptions: clientOptions(options) },
  });
  const ending = Promise.withResolvers<SocketEnd>();
  let heardAt = clock.monotonic();
  let isOpen = true;
  // The SDK closes at Slack's first hint that it will; here the next socket is opened before.
  const forward = client.listeners('ws_message');
  client.removeAllListeners('ws_message');
  client.on('ws_message', (data: unknown, isBinary: unknown) => {
    heardAt = clock.monotonic();
    const reason = farewellOf(data);
    if (reason !== undefined) ending.resolve(endOf(reason));
    // What the SDK cannot read it rejects: that is not our end.
    else for (const take of forward) Promise.resolve(Reflect.apply(take, client, [data, isBinary])).catch(() => {});
  });
  client.on('slack_event', (event: unknown) => {
    const parsed = envelope.safeParse(event);
    if (!parsed.success) return;
    const { type, body, retry_num: retryNum, ack } = parsed.data;
    onEnvelope({ type, body, retryNum, ack: () => ack() });
  });
  client.on('disconnected', () => {
    isOpen = false;
    ending.resolve('lost');
  });
  const close = async (): Promise<void> => {
    for (const _try of ['friendly', 'at once']) {
      // The event of the end clears it. Asked a second time, the SDK does not wait for the other end.
      if (!isOpen) return;
      const closed = client.disconnect().catch(() => {});
      await Promise.race([closed, sleep(clock, CLOSE_DEADLINE_MS)]);
    }
    isOpen = false;
  };
  using limit = deadline(clock, HELLO_DEADLINE_MS, "Slack's hello");
  try {
    await raceAbort(
      client.start().catch((error: unknown) => {
        throw error ?? new Error('Slack closed the connection before its hello');
      }),
      AbortSignal.any([signal, limit.signal]),
    );
  } catch (error) {
    void close();
    throw error;
  }
  return { ended: ending.promise, isOpen: () => isOpen, heardAt: () => heardAt, close };
}

function farewellOf(data: unknown): string | undefined {
  if (typeof data !== 'string' || !data.includes('"disconnect"')) return undefined;
  try {
    const parsed = farewell.safeParse(JSON.parse(data));
    return parsed.success ? parsed.data.reason : undefined;
  } catch {
    return undefined;
  }
}

function endOf(reason: string): SocketEnd {
  if (reason === 'too_many_websockets') return 'too-many';
  return reason === 'link_disabled' ? 'switched-off' : 'refresh';
}
