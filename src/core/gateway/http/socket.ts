import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Clock } from '../../util/clock.ts';
import type { Feed, Watcher } from '../feed/feed.ts';
import type { LiveEvent, ServerFrame } from './wire.ts';

/** Open at once; a browser that is refused tries again. */
const MOST_SOCKETS = 64;
const PING_MS = 30_000;
/** Text in between is left out: so often is enough to read along, milliseconds. */
const LIVE_MS = 50;
/** A longer text is sent less often, so that the bytes for each second stay the same. */
const LIVE_CHARS = 20_000;
/** Who reads slower gets only the newest text, bytes. */
const SLOW = 64_000;
/** Who reads so slowly has to come again. */
const TOO_SLOW = 1_000_000;
const LARGEST_FRAME = 1024;
const CLOSING_MS = 2_000;

/** The WebSockets of the page, one for each tab. Clients only listen. */
export class Sockets implements Disposable {
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #isStillIn: (request: IncomingMessage) => boolean;
  /** With what each came. */
  readonly #requests = new WeakMap<WebSocket, IncomingMessage>();
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: LARGEST_FRAME, perMessageDeflate: false });
  #pings: Disposable | undefined;

  constructor({
    feed,
    clock,
    isStillIn,
  }: {
    readonly feed: Feed;
    readonly clock: Clock;
    /** Whether a request that was let in would be let in again. */
    readonly isStillIn: (request: IncomingMessage) => boolean;
  }) {
    this.#feed = feed;
    this.#clock = clock;
    this.#isStillIn = isStillIn;
  }

  /** Takes a connection that was let in. False: too many are open. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    if (this.#server.clients.size >= MOST_SOCKETS) return false;
    const after = new URL(request.url ?? '', 'http://localhost').searchParams.get('after');
    this.#server.handleUpgrade(request, socket, head, (client) => {
      this.#requests.set(client, request);
      this.#serve(client, after);
    });
    return true;
  }

  /** Ends the connections whose login was logged out, or has expired. */
  endLeft(): void {
    for (const client of this.#server.clients) {
      const request = this.#requests.get(client);
      if (request !== undefined && !this.#isStillIn(request)) client.close(1008, 'logged out');
    }
  }

  [Symbol.dispose](): void {
    this.#pings?.[Symbol.dispose]();
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
  }

  #serve(client: WebSocket, after: string | null): void {
    const watcher = new SocketWatcher(client, this.#clock);
    client.on('error', () => client.terminate());
    client.on('message', () => client.close(1008, 'this connection only sends'));
    const watching = this.#feed.watch(after, watcher);
    client.on('close', () => {
      watching[Symbol.dispose]();
      watcher[Symbol.dispose]();
    });
    this.#pings ??= this.#ping(new WeakSet());
  }

  /** Ends a connection that did not answer the ping before; laptops that were closed say nothing more. */
  #ping(silent: WeakSet<WebSocket>): Disposable {
    return this.#clock.timer(PING_MS, () => {
      this.endLeft();
      const asked = new WeakSet<WebSocket>();
      for (const client of this.#server.clients) {
        if (silent.has(client)) {
          client.terminate();
          continue;
        }
        asked.add(client);
        client.once('pong', () => asked.delete(client));
        client.ping();
      }
      this.#pings = this.#server.clients.size === 0 ? undefined : this.#ping(asked);
    });
  }
}

/** The same event goes to many: it is written once. */
const written = new WeakMap<object, string>();

function textOf(frame: ServerFrame, key: object): string {
  const text = written.get(key) ?? JSON.stringify(frame);
  written.set(key, text);
  return text;
}

/** Sends to one client; growing texts only at times, and the newest only. */
class SocketWatcher implements Watcher, Disposable {
  readonly #client: WebSocket;
  readonly #clock: Clock;
  /** By turn and kind. */
  readonly #late = new Map<string, LiveEvent>();
  #timer: Disposable | undefined;

  constructor(client: WebSocket, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  frame(frame: ServerFrame): void {
    this.#send(textOf(frame, frame));
  }

  live(event: LiveEvent): void {
    if (event.type === 'text' || event.type === 'reasoning' || event.type === 'status') {
      this.#late.set(`${event.turnId} ${event.type}`, event);
      this.#timer ??= this.#clock.timer(waitFor(event), () => this.#flush());
      return;
    }
    // What comes next builds on the text before it.
    for (const [key, late] of this.#late) {
      if (late.turnId !== event.turnId) continue;
      this.#late.delete(key);
      this.#sendLive(late);
    }
    this.#sendLive(event);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#late.clear();
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#client.bufferedAmount > SLOW) {
      this.#timer = this.#clock.timer(LIVE_MS, () => this.#flush());
      return;
    }
    const events = [...this.#late.values()];
    this.#late.clear();
    for (const event of events) this.#sendLive(event);
  }

  #sendLive(event: LiveEvent): void {
    this.#send(textOf({ type: 'live', event }, event));
  }

  #send(text: string): void {
    const client = this.#client;
    if (client.readyState !== client.OPEN) return;
    if (client.bufferedAmount > TOO_SLOW) {
      client.close(1013, 'too slow, come again');
      this.#clock.timer(CLOSING_MS, () => client.terminate());
      return;
    }
    client.send(text);
  }
}

function waitFor(event: { readonly text: string }): number {
  return LIVE_MS * Math.max(1, event.text.length / LIVE_CHARS);
}
