import { once } from 'node:events';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';

type Content = Readonly<Record<string, unknown>>;

interface Line {
  readonly socket: WebSocket;
  muted: boolean;
  /** Slack said that it will close it. */
  leaving: boolean;
}

interface Waiting {
  readonly id: string;
  readonly type: string;
  readonly payload: Content;
  attempts: number;
  line: Line | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** The Socket Mode side of the double: envelopes are brought again until they are acknowledged. */
export class SlackSockets {
  readonly #server: WebSocketServer;
  readonly #redeliverMs: number;
  readonly #lines = new Set<Line>();
  readonly #waiting = new Map<string, Waiting>();
  /** Ids of envelopes, in the order in which they were acknowledged. */
  readonly acks: string[] = [];
  /** Each envelope that was sent, attempts included. */
  readonly sent: string[] = [];
  most = 0;
  opened = 0;
  /** So many acknowledgements are lost on their way. */
  ackLosses = 0;
  #count = 0;

  private constructor(server: WebSocketServer, redeliverMs: number) {
    this.#server = server;
    this.#redeliverMs = redeliverMs;
    server.on('connection', (socket) => this.#greet(socket));
  }

  static async open(redeliverMs: number): Promise<SlackSockets> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong: false });
    await once(server, 'listening');
    return new SlackSockets(server, redeliverMs);
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the socket server has no port');
    return `ws://127.0.0.1:${address.port}/link?ticket=${this.#count}`;
  }

  get count(): number {
    return this.#lines.size;
  }

  get unacknowledged(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /** Brings something, now or when there is a line; returns the envelope's id. */
  bring(type: string, payload: Content): string {
    this.#count += 1;
    const id = `envelope-${this.#count}`;
    const waiting: Waiting = { id, type, payload, attempts: 0, line: undefined, timer: undefined };
    this.#waiting.set(id, waiting);
    this.#send(waiting);
    return id;
  }

  /** Slack tells each line why it will be closed; the line stays until it is. */
  disconnect(reason: string): void {
    for (const line of this.#lines) {
      if (line.leaving || line.muted) continue;
      line.leaving = true;
      line.socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'test' } }));
    }
  }

  /** The lines stay open, and nothing comes over them any more, not even an answer to a ping or a close. */
  mute(): void {
    for (const line of this.#lines) {
      line.muted = true;
      line.socket.pause();
    }
  }

  cutAll(): void {
    for (const { socket } of this.#lines) socket.terminate();
  }

  /** What was not acknowledged is given up, as Slack does after its third try. */
  forget(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  async close(): Promise<void> {
    this.forget();
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #greet(socket: WebSocket): void {
    const line: Line = { socket, muted: false, leaving: false };
    this.#lines.add(line);
    this.opened += 1;
    this.most = Math.max(this.most, this.#lines.size);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#lines.delete(line);
      for (const waiting of this.#waiting.values()) if (waiting.line === line) this.#later(waiting, 0);
    });
    socket.on('ping', (data) => {
      socket.pong(data);
    });
    socket.on('message', (data) => {
      if (this.ackLosses > 0) {
        this.ackLosses -= 1;
        return;
      }
      const { envelope_id: id } = JSON.parse(textOf(data)) as { envelope_id: string };
      this.acks.push(id);
      clearTimeout(this.#waiting.get(id)?.timer);
      this.#waiting.delete(id);
    });
    socket.send(JSON.stringify({ type: 'hello', num_connections: this.#lines.size, connection_info: { app_id: 'A' } }));
    for (const waiting of this.#waiting.values()) if (waiting.line === undefined) this.#send(waiting);
  }

  #send(waiting: Waiting): void {
    const line = [...this.#lines].findLast(({ leaving, muted }) => !leaving && !muted) ?? [...this.#lines].at(-1);
    waiting.line = line;
    if (line === undefined) return;
    const { id, type, payload, attempts } = waiting;
    waiting.attempts += 1;
    this.sent.push(id);
    const envelope = { envelope_id: id, type, payload, accepts_response_payload: false, retry_attempt: attempts };
    if (!line.muted) line.socket.send(JSON.stringify(envelope));
    this.#later(waiting, this.#redeliverMs);
  }

  #later(waiting: Waiting, ms: number): void {
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(() => {
      if (this.#waiting.has(waiting.id)) this.#send(waiting);
    }, ms);
  }
}

function textOf(data: RawData): string {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data;
  return bytes.toString('utf8');
}
