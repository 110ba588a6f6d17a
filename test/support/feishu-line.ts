import { once } from 'node:events';
import { WebSocketServer, type WebSocket } from 'ws';
import { readFrame, writeFrame } from './feishu-frames.ts';

interface Waiting {
  readonly id: string;
  readonly event: unknown;
  line: WebSocket | undefined;
  timer: NodeJS.Timeout | undefined;
}

const SERVICE = 33_554_678;

/** The long connection of the double: an event is brought again until it is confirmed, over any line that there is. */
export class FeishuLine {
  readonly #server: WebSocketServer;
  readonly #redeliverMs: number;
  readonly #lines = new Set<WebSocket>();
  readonly #waiting = new Map<string, Waiting>();
  /** Ids of events, in the order in which they were confirmed. */
  readonly confirmed: string[] = [];
  #count = 0;

  private constructor(server: WebSocketServer, redeliverMs: number) {
    this.#server = server;
    this.#redeliverMs = redeliverMs;
    server.on('connection', (line) => this.#greet(line));
  }

  static async open(redeliverMs: number): Promise<FeishuLine> {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    return new FeishuLine(server, redeliverMs);
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the line has no port');
    return `ws://127.0.0.1:${address.port}/ws/v2?fpid=493&device_id=7001&service_id=${SERVICE}&ticket=t`;
  }

  get unconfirmed(): number {
    return this.#waiting.size;
  }

  /** Brings an event of the schema 2.0, now or when there is a line. */
  bring(type: string, event: unknown): void {
    this.#count += 1;
    const id = `event-${this.#count}`;
    const header = { event_id: id, event_type: type, create_time: String(Date.now()), token: '', tenant_key: 'tenant' };
    const waiting: Waiting = { id, event: { schema: '2.0', header, event }, line: undefined, timer: undefined };
    this.#waiting.set(id, waiting);
    this.#send(waiting);
  }

  cutAll(): void {
    for (const line of this.#lines) line.terminate();
  }

  async close(): Promise<void> {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    this.cutAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #greet(line: WebSocket): void {
    this.#lines.add(line);
    line.on('error', () => {});
    line.on('close', () => {
      this.#lines.delete(line);
      for (const waiting of this.#waiting.values()) if (waiting.line === line) this.#later(waiting, 0);
    });
    line.on('message', (data: Buffer) => this.#hear(line, data));
    for (const waiting of this.#waiting.values()) if (waiting.line === undefined) this.#send(waiting);
  }

  #hear(line: WebSocket, data: Buffer): void {
    const { method, headers, payload } = readFrame(data);
    if (method === 0) {
      if (headers['type'] !== 'ping') return;
      const settings = { PingInterval: 120, ReconnectCount: -1, ReconnectInterval: 1, ReconnectNonce: 0 };
      const pong = { headers: { type: 'pong' }, payload: Buffer.from(JSON.stringify(settings)) };
      line.send(writeFrame({ method: 0, service: SERVICE, ...pong }));
      return;
    }
    const id = headers['message_id'] ?? '';
    const { code } = JSON.parse(payload.toString('utf8')) as { code: number };
    // Any other code: it was not dealt with, so it comes again.
    if (code !== 200) return;
    this.confirmed.push(id);
    clearTimeout(this.#waiting.get(id)?.timer);
    this.#waiting.delete(id);
  }

  #send(waiting: Waiting): void {
    const line = [...this.#lines].at(-1);
    waiting.line = line;
    if (line === undefined) return;
    const bytes = Buffer.from(JSON.stringify(waiting.event));
    // What is long comes in several frames.
    const sum = bytes.length > 1_500 ? 2 : 1;
    const size = Math.ceil(bytes.length / sum);
    for (let seq = 0; seq < sum; seq += 1) {
      const headers = { type: 'event', message_id: waiting.id, sum: String(sum), seq: String(seq), trace_id: 'trace' };
      const payload = bytes.subarray(seq * size, (seq + 1) * size);
      line.send(writeFrame({ method: 1, service: SERVICE, headers, payload }));
    }
    this.#later(waiting, this.#redeliverMs);
  }

  #later(waiting: Waiting, ms: number): void {
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(() => {
      if (this.#waiting.has(waiting.id)) this.#send(waiting);
    }, ms);
  }
}
