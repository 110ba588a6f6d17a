import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { buildPage, type PageFile } from '../../../page.config.ts';
import type {
  HistoryItem,
  MessageInput,
  Row,
  RunningTurn,
  ServerFrame,
  WaitingQuestion,
} from '../../../src/gateway/http/wire.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const COOKIE = 'assistant_session=double';

export type Operations = Record<string, (params: Record<string, unknown>) => unknown>;
export type LiveEvent = Extract<ServerFrame, { type: 'live' }>['event'];

/** A refusal as an operation of the gateway makes it. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

let page: Promise<readonly PageFile[]> | undefined;

/** Stands in for the gateway, by its contract, until that serves the page: what happens in it is said by the test. */
export class DoubleGateway implements AsyncDisposable {
  readonly history = new Map<string, HistoryItem[]>();
  readonly rows: Row[] = [];
  readonly turns = new Map<string, RunningTurn>();
  readonly uploads: { name: string; mediaType: string; size: number }[] = [];
  readonly answered: { code: string; decision: string; text?: string }[] = [];
  readonly messages: MessageInput[] = [];
  readonly stopped: string[] = [];
  /** Of the page itself and in its place. */
  readonly reports: string[] = [];
  questions: readonly WaitingQuestion[] = [];
  operations: Operations = {};
  /** What a message sets off. */
  onMessage: (message: MessageInput, session: string) => void = () => {};
  onStop: (session: string) => void = () => {};
  readonly #codes = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #server = createServer((request, response) => {
    void this.#answer(request, response).catch((error: unknown) => fail(response, error));
  });

  static async open(): Promise<DoubleGateway> {
    page ??= buildPage().then(({ files }) => files);
    await page;
    const double = new DoubleGateway();
    double.#server.on('upgrade', (request, socket, head) => {
      if (request.headers.cookie?.includes(COOKIE) !== true) return socket.destroy();
      return double.#sockets.handleUpgrade(request, socket, head, (client) => double.#greet(client, request.url ?? ''));
    });
    await new Promise<void>((resolve) => double.#server.listen(0, '127.0.0.1', resolve));
    return double;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many tabs follow it. */
  get followers(): number {
    return this.#sockets.clients.size;
  }

  /** A link that logs in once. */
  link(): string {
    const code = `code-${this.#codes.size + 1}`;
    this.#codes.add(code);
    return `${this.address}/#login=${code}`;
  }

  say(frame: ServerFrame): void {
    for (const client of this.#sockets.clients) client.send(JSON.stringify(frame));
  }

  /** Adds to the tape of a session. */
  happened(session: string, ...items: readonly HistoryItem[]): void {
    this.history.set(session, [...(this.history.get(session) ?? []), ...items]);
  }

  row(row: Row): void {
    this.rows.push(row);
    this.say({ type: 'rows', cursor: this.#cursor(), rows: [row] });
  }

  live(event: LiveEvent): void {
    this.say({ type: 'live', event });
  }

  ask(questions: readonly WaitingQuestion[]): void {
    this.questions = questions;
    this.say({ type: 'questions', questions });
  }

  /** Cuts all connections, as a network does. */
  cut(): void {
    for (const client of this.#sockets.clients) client.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #cursor(): string {
    return `${this.rows.length}.0`;
  }

  #greet(client: WebSocket, url: string): void {
    const send = (frame: ServerFrame): void => client.send(JSON.stringify(frame));
    const after = new URL(url, this.address).searchParams.get('after');
    send({ type: 'hello', version: '1.0.0', cursor: this.#cursor(), startedAt: 0 });
    const missed = after === null ? [] : this.rows.slice(Number(after.split('.')[0]));
    if (missed.length > 0) send({ type: 'rows', cursor: this.#cursor(), rows: missed });
    send({ type: 'turns', turns: [...this.turns.values()] });
    send({ type: 'questions', questions: this.questions });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.address);
    const file = (await page)?.find(({ path }) => path === (pathname === '/' ? 'index.html' : pathname.slice(1)));
    if (file !== undefined) {
      response.writeHead(200, { 'Content-Type': file.mediaType, 'Content-Security-Policy': POLICY });
      response.end(file.body);
      return;
    }
    const body = await read(request);
    if (pathname === '/login') return this.#login(JSON.parse(body.toString()), response);
    if (request.headers.cookie?.includes(COOKIE) !== true) {
      return send(response, 401, { error: { code: 'login-needed', message: 'Log in first.' } });
    }
    const [, , first = '', second = '', third = ''] = pathname.split('/').map(decodeURIComponent);
    switch (first) {
      case 'operations': {
        const found = this.operations[second];
        if (found === undefined) throw new Refusal('operation-unknown', `The double does not know ${second}.`);
        return send(response, 200, { result: await found(JSON.parse(body.toString())) });
      }
      case 'messages':
        return send(response, 202, this.#take(JSON.parse(body.toString())));
      case 'stop': {
        const { chat } = JSON.parse(body.toString());
        this.stopped.push(chat);
        this.onStop(`web:${chat}`);
        return send(response, 202, { accepted: 'accepted', session: `web:${chat}` });
      }
      case 'answers': {
        const answer = JSON.parse(body.toString());
        this.answered.push(answer);
        this.ask(this.questions.filter(({ code }) => code !== answer.code));
        return send(response, 202, { accepted: 'accepted', reply: 'Decided.' });
      }
      case 'uploads': {
        const name = searchParams.get('name') ?? 'file';
        this.uploads.push({ name, mediaType: request.headers['content-type'] ?? '', size: body.length });
        return send(response, 201, { upload: `upload-${this.uploads.length}`, name, mediaType: '', size: body.length });
      }
      case 'sessions':
        return send(response, 200, this.#page(second, third, searchParams));
      case 'media':
        response.writeHead(200, { 'Content-Type': 'image/png' });
        response.end(IMAGE);
        return;
      default:
        return send(response, 404, { error: { code: 'not-found', message: 'There is nothing here.' } });
    }
  }

  #login({ code, token }: { code?: string; token?: string }, response: ServerResponse): void {
    if (token !== 'the-token' && (code === undefined || !this.#codes.delete(code))) {
      return send(response, 401, {
        error: { code: 'login-refused', message: 'This login link is used up or too old. Ask for a new one.' },
      });
    }
    response.writeHead(204, { 'Set-Cookie': `${COOKIE}; HttpOnly; SameSite=Strict; Path=/` });
    response.end();
  }

  #take(message: MessageInput): { accepted: string; session: string } {
    const session = `web:${message.chat}`;
    if (this.#seen.has(message.id)) return { accepted: 'duplicate', session };
    this.#seen.add(message.id);
    this.messages.push(message);
    const id = `in-${this.#seen.size}`;
    const media = (message.media ?? []).map(({ name = 'file' }) => ({ name, mediaType: '', url: null }));
    this.row({
      direction: 'in',
      id,
      session,
      channel: 'web',
      chat: message.chat,
      kind: 'user',
      text: message.text,
      turn: null,
      at: Date.now(),
      state: 'accepted',
      externalId: message.id,
      media,
    });
    this.onMessage(message, session);
    return { accepted: 'accepted', session };
  }

  #page(session: string, part: string, query: URLSearchParams): unknown {
    const items = this.history.get(session);
    if (items === undefined) throw new Refusal('session-unknown', `There is no session ${session}.`);
    if (part !== 'history') return { text: items.find(({ id }) => id === query.get('item'))?.text ?? '', next: null };
    const limit = Number(query.get('limit'));
    const after = query.get('after');
    if (after !== null) {
      const from = items.findLastIndex(({ entry }) => entry === after) + 1;
      return { items: items.slice(from, from + limit), more: items.length > from + limit };
    }
    const before = query.get('before');
    const end = before === null ? items.length : items.findIndex(({ entry }) => entry === before);
    return { items: items.slice(Math.max(0, end - limit), end), more: end > limit };
  }
}

/** One pixel. */
const IMAGE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkaPhfDwAEBQGBpQ3rjgAAAABJRU5ErkJggg==',
  'base64',
);

async function read(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

function fail(response: ServerResponse, error: unknown): void {
  const code = error instanceof Refusal ? error.code : 'internal';
  send(response, error instanceof Refusal ? 409 : 500, {
    error: { code, message: error instanceof Error ? error.message : '' },
  });
}
