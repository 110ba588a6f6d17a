import type { IncomingMessage, ServerResponse } from 'node:http';
import { pause, readBytes, replyJson, resetConnection, startServer, untilClosed, type TestServer } from './http.ts';
import { MatrixRooms, replaced, type MatrixContent, type MatrixEvent } from './matrix-rooms.ts';

/** How one call goes wrong. */
export type MatrixFault =
  | 'reset-before'
  | 'reset-after'
  | 'hang'
  | { readonly delayMs: number }
  | { readonly status: number; readonly errcode: string; readonly retryAfterMs?: number };

export interface MatrixCall {
  /** Method and path, decoded, without the prefix of the API. */
  readonly route: string;
  readonly body: unknown;
}

type FaultHandler = (call: MatrixCall) => MatrixFault | undefined;

/** The server says no, in the form of the specification. */
class Refusal extends Error {
  readonly status: number;
  readonly errcode: string;

  constructor(status: number, errcode: string, message: string) {
    super(message);
    this.status = status;
    this.errcode = errcode;
  }
}

/** An event may have so many bytes. */
const LARGEST_EVENT = 65_536;
const TAGS =
  /^(?:del|h[1-6]|blockquote|p|a|ul|ol|sup|sub|li|b|i|u|strong|em|s|code|hr|br|div|table|thead|tbody|tr|th|td|caption|pre|span|img)$/u;

/**
 * A homeserver with one account of a bot, after the client-server specification (v1.11): long polls of `/sync`, gaps and
 * `/messages`, transactions, edits with their bundles, authenticated media.
 */
export class FakeMatrix implements AsyncDisposable {
  readonly token = 'syt_bot_token';
  readonly bot = '@jeeves:test';
  readonly botName = 'Jeeves';
  readonly rooms = new MatrixRooms(this.bot);
  readonly calls: MatrixCall[] = [];
  readonly #server: TestServer;
  readonly #files = new Map<string, { readonly bytes: Uint8Array; readonly type: string }>();
  readonly #transactions = new Map<string, string>();
  #faults: FaultHandler = () => undefined;

  private constructor(server: TestServer) {
    this.#server = server;
  }

  static async start(): Promise<FakeMatrix> {
    let fake: FakeMatrix | undefined;
    const server = await startServer(async (request, response) => fake?.serve(request, response));
    fake = new FakeMatrix(server);
    return fake;
  }

  /** `channels.matrix` without people. */
  get config(): { readonly homeserver: string; readonly accessToken: string } {
    return { homeserver: this.#server.url, accessToken: this.token };
  }

  /** Decides about each call. */
  setFaultHandler(handler: FaultHandler): void {
    this.#faults = handler;
  }

  addFile(bytes: Uint8Array, type: string): string {
    const id = this.rooms.newId('').split(':')[0] ?? '';
    this.#files.set(id, { bytes, type });
    return `mxc://test/${id}`;
  }

  file(mxc: unknown): Uint8Array | undefined {
    return this.#files.get(String(mxc).split('/').at(-1) ?? '')?.bytes;
  }

  /** As after a day: what is sent again under a known transaction is a new event. */
  forgetTransactions(): void {
    this.#transactions.clear();
  }

  cutAll(): void {
    this.#server.cutAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#server.url);
    const bytes = await readBytes(request);
    const isJson = request.headers['content-type'] === 'application/json';
    const path = url.pathname.replace(/^\/_matrix\/(?:client\/(?:v3|v1)|media\/v3)/u, '');
    const parts = path.split('/').slice(1).map(decodeURIComponent);
    const call = {
      route: `${request.method} /${parts.join('/')}`,
      body: isJson ? JSON.parse(bytes.toString()) : bytes,
    };
    this.calls.push(call);
    if (request.headers.authorization !== `Bearer ${this.token}`)
      return refuse(response, new Refusal(401, 'M_UNKNOWN_TOKEN', 'Invalid access token passed.'));
    const fault = this.#faults(call);
    if (fault === 'reset-before') return resetConnection(response);
    if (fault === 'hang') return untilClosed(response);
    if (typeof fault === 'object' && 'status' in fault) {
      const { status, errcode, retryAfterMs } = fault;
      const wait = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
      return replyJson(response, status, { errcode, error: 'It goes wrong.', ...wait });
    }
    if (typeof fault === 'object' && !(await pause(response, fault.delayMs))) return;
    try {
      if (parts[0] === 'media') return this.#download(parts, response);
      const answer = await this.#answer(request, { parts, query: url.searchParams, call, bytes }, response);
      if (fault === 'reset-after') resetConnection(response);
      else if (!response.destroyed) replyJson(response, 200, answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refuse(response, error);
    }
  }

  async #answer(
    { method, headers }: IncomingMessage,
    {
      parts,
      query,
      call,
      bytes,
    }: { parts: readonly string[]; query: URLSearchParams; call: MatrixCall; bytes: Uint8Array },
    response: ServerResponse,
  ): Promise<unknown> {
    const [area, roomId = '', what, ...rest] = parts;
    if (call.route === 'GET /account/whoami') return { user_id: this.bot, device_id: 'DEVICE' };
    if (call.route === 'GET /sync') return await this.#sync(query, response);
    if (call.route === 'POST /upload')
      return { content_uri: this.addFile(bytes, headers['content-type'] ?? 'application/octet-stream') };
    if (area !== 'rooms') throw new Error(`the homeserver has no ${call.route}`);
    if (`${method} ${what}` === 'POST join') return this.#join(roomId);
    if (!this.rooms.has(roomId, this.bot))
      throw new Refusal(403, 'M_FORBIDDEN', `User ${this.bot} not in room ${roomId}`);
    switch (`${method} ${what}`) {
      case 'PUT send':
        return { event_id: this.#send(roomId, rest, Object(call.body)) };
      case 'PUT typing':
      case 'POST receipt':
        return {};
      case 'GET joined_members':
        return { joined: this.#joined(roomId) };
      case 'GET messages': {
        const from = query.get('from');
        const to = Number(query.get('to')?.slice(1) ?? 0);
        return this.rooms.before(
          roomId,
          from === null ? Infinity : Number(from.slice(1)),
          to,
          Number(query.get('limit') ?? 10),
        );
      }
      case 'GET event': {
        const found = this.rooms.event(roomId, rest[0] ?? '');
        if (found === undefined) throw new Refusal(404, 'M_NOT_FOUND', 'Event not found.');
        return found;
      }
      default:
        throw new Error(`the homeserver has no ${call.route}`);
    }
  }

  async #sync(query: URLSearchParams, response: ServerResponse): Promise<MatrixContent> {
    const { room } = JSON.parse(query.get('filter') ?? '{}');
    const filter = { limit: Number(room.timeline.limit), types: [...room.timeline.types] };
    const token = query.get('since');
    const since = token === null ? undefined : Number(token.slice(1));
    const gone = AbortSignal.any([AbortSignal.timeout(Number(query.get('timeout') ?? 0) + 1), closed(response)]);
    for (;;) {
      const found = this.rooms.sync(since, filter);
      if ('rooms' in found || since === undefined || gone.aborted) return found;
      await this.rooms.moved(gone);
    }
  }

  #join(roomId: string): { room_id: string } {
    if (!this.rooms.has(roomId, this.bot, 'invite'))
      throw new Refusal(403, 'M_FORBIDDEN', 'You are not invited to this room.');
    this.rooms.member(roomId, this.bot, 'join', { name: this.botName });
    return { room_id: roomId };
  }

  #joined(roomId: string): MatrixContent {
    const members = [...(this.rooms.room(roomId)?.members ?? [])].filter(([, { membership }]) => membership === 'join');
    return Object.fromEntries(members.map(([id, { displayname }]) => [id, { display_name: displayname ?? null }]));
  }

  #send(roomId: string, [type = '', transaction = '']: readonly string[], content: MatrixContent): string {
    const key = `${roomId} ${type} ${transaction}`;
    const known = this.#transactions.get(key);
    if (known !== undefined) return known;
    const bytes = Buffer.byteLength(JSON.stringify(content));
    if (bytes > LARGEST_EVENT) throw new Refusal(413, 'M_TOO_LARGE', 'event too large');
    const old = replaced({ content });
    if (old !== undefined && this.rooms.event(roomId, old)?.sender !== this.bot)
      throw new Refusal(400, 'M_BAD_JSON', 'Can only replace own events.');
    for (const [, tag = ''] of textIn(content, 'formatted_body').matchAll(/<\/?(\w+)[^>]*>/gu))
      if (!TAGS.test(tag)) throw new Error(`clients do not show the tag ${tag}`);
    const { event_id: id } = this.rooms.add(roomId, { type, sender: this.bot, content });
    this.#transactions.set(key, id);
    return id;
  }

  #download([, , server, id = '']: readonly string[], response: ServerResponse): void {
    const file = this.#files.get(id);
    if (server !== 'test' || file === undefined) return refuse(response, new Refusal(404, 'M_NOT_FOUND', 'Not found.'));
    response.writeHead(200, { 'content-type': file.type }).end(file.bytes);
  }
}

export function textIn(content: MatrixContent, key: string): string {
  const text = content[key];
  return typeof text === 'string' ? text : '';
}

/** What is read of an HTML text. */
export function shownText({ content }: Pick<MatrixEvent, 'content'>): string {
  const html = content['formatted_body'];
  if (typeof html !== 'string') return textIn(content, 'body');
  const entities: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };
  return html
    .replaceAll(/<br ?\/?>/gu, '\n')
    .replaceAll(/<[^>]*>/gu, '')
    .replaceAll(/&(?:lt|gt|quot|amp);/gu, (entity) => entities[entity] ?? '');
}

function closed(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  return gone.signal;
}

function refuse(response: ServerResponse, { status, errcode, message }: Refusal): void {
  replyJson(response, status, { errcode, error: message });
}
