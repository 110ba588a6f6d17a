import { webApi } from '@slack/bolt';
import { WebSocket } from 'ws';
import * as z from 'zod';
import { systemClock } from '../../core/api-channels.ts';
import { deadline, raceAbort, type Clock } from '../../core/api.ts';
import type { SlackOptions } from './options.ts';
import { clientOptions } from './web-client.ts';

const HELLO_DEADLINE_MS = 15_000;
const CLOSE_DEADLINE_MS = 1_000;
/** How the end of a connection is told whose other side did not close it. */
const NO_ANSWER = 1006;
/** Time between two pings. A connection that has not answered one when the next is due is dead. */
const PING_MS = 4_000;
/** Slack's envelopes are far smaller; a larger message ends the connection. */
const MOST_MESSAGE_BYTES = 16 * 1024 * 1024;

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
  /** Passes on what has come and what will come; before, it waits. */
  readonly release: () => void;
  /**
   * Closes the connection. Resolves within 2 s with whether Slack answered, which it does after everything else that it
   * sent: only then nothing was lost.
   */
  readonly close: () => Promise<boolean>;
}

export interface SocketPorts {
  readonly options: Pick<SlackOptions, 'appToken' | 'apiUrl'>;
  readonly onEnvelope: (envelope: Envelope) => void;
  readonly clock: Clock;
}

const frame = z.object({
  type: z.string(),
  reason: z.string().catch(''),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
  retry_attempt: z.number().optional().catch(undefined),
});
type Frame = z.infer<typeof frame>;

/**
 * Opens a Socket Mode connection; resolves at Slack's hello. Passes nothing on before its `release`. Rejects with the error of the Web API, or when there is no
 * hello in time. Bolt's own client is not used: it closes at Slack's first hint that it will, before there is another.
 */
export async function openSocket(
  { options, onEnvelope, clock }: SocketPorts,
  signal: AbortSignal,
): Promise<SlackSocket> {
  using limit = deadline(clock, HELLO_DEADLINE_MS, "Slack's hello");
  const either = AbortSignal.any([signal, limit.signal]);
  const web = new webApi.WebClient(options.appToken, clientOptions(options));
  const { url } = await raceAbort(web.apps.connections.open(), either);
  if (url === undefined) throw new Error('Slack named no address for its events');
  const socket = new WebSocket(url, { handshakeTimeout: HELLO_DEADLINE_MS, maxPayload: MOST_MESSAGE_BYTES });
  const hello = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<SocketEnd>();
  const closed = Promise.withResolvers<boolean>();
  const held: Envelope[] = [];
  let isHeld = true;
  let heardAt = clock.monotonic();
  let reason = 'Slack closed the connection before its hello';
  socket.on('error', (error) => {
    // `close` follows.
    reason = error.message;
  });
  socket.on('close', (code) => {
    hello.reject(new Error(reason));
    ending.resolve('lost');
    closed.resolve(code !== NO_ANSWER);
  });
  socket.on('message', (data, isBinary) => {
    heardAt = clock.monotonic();
    const read = isBinary || !Buffer.isBuffer(data) ? undefined : readFrame(data.toString('utf8'));
    if (read === undefined) return;
    if (read.type === 'hello') hello.resolve();
    else if (read.type === 'disconnect') ending.resolve(endOf(read.reason));
    else if (read.envelope_id !== undefined) {
      const envelope = envelopeOf(read, read.envelope_id, socket);
      if (isHeld) held.push(envelope);
      else onEnvelope(envelope);
    }
  });
  hello.promise.catch(() => {});
  keepAlive(socket);
  const close = async (): Promise<boolean> => {
    socket.close(1000);
    using patience = deadline(clock, CLOSE_DEADLINE_MS, "Slack's answer to the close");
    try {
      return await raceAbort(closed.promise, patience.signal);
    } catch {
      socket.terminate();
      return false;
    }
  };
  try {
    await raceAbort(hello.promise, either);
  } catch (error) {
    void close();
    throw error;
  }
  return {
    ended: ending.promise,
    isOpen: () => socket.readyState === WebSocket.OPEN,
    heardAt: () => heardAt,
    release: () => {
      isHeld = false;
      for (const envelope of held.splice(0)) onEnvelope(envelope);
    },
    close,
  };
}

/** By the machine's own clock: it measures the network. */
function keepAlive(socket: WebSocket): void {
  let isAlive = true;
  let timer: Disposable | undefined;
  const beat = (): void => {
    if (!isAlive) {
      socket.terminate();
      return;
    }
    isAlive = false;
    socket.ping();
    timer = systemClock.timer(PING_MS, beat);
  };
  socket.on('open', beat);
  socket.on('pong', () => {
    isAlive = true;
  });
  socket.on('close', () => timer?.[Symbol.dispose]());
}

function readFrame(text: string): Frame | undefined {
  try {
    return frame.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function envelopeOf({ type, payload, retry_attempt: retryNum }: Frame, id: string, socket: WebSocket): Envelope {
  const ack = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify({ envelope_id: id, payload: {} });
      socket.send(text, (error) => (error == null ? resolve() : reject(error)));
    });
  return { type, body: payload, retryNum, ack };
}

function endOf(reason: string): SocketEnd {
  if (reason === 'too_many_websockets') return 'too-many';
  return reason === 'link_disabled' ? 'switched-off' : 'refresh';
}
