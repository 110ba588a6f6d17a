import { WebSocket } from 'ws';
import type { HistoryPage, LiveEvent, Row, ServerFrame, UploadReply } from '../../../src/core/gateway/http/wire.ts';
import { waitFor } from '../../support/wait.ts';
import type { World } from '../../support/world.ts';

/** What was answered: the status, and the body as JSON. */
export interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A browser that was logged in by the link that the assistant gave out. */
export interface PageClient {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  get(path: string): Promise<Response>;
  post(path: string, body: object): Promise<Reply>;
  /** Sends a message under a new id. */
  say(chat: string, text: string, more?: object): Promise<Reply>;
  upload(name: string, type: string, bytes: Uint8Array): Promise<UploadReply>;
  history(session: string, query?: string): Promise<HistoryPage>;
  /** Opens the WebSocket; resolves when it was told what runs. */
  follow(after?: string): Promise<Followed>;
}

/** What came over one WebSocket. */
export interface Followed extends Disposable {
  readonly socket: WebSocket;
  readonly frames: readonly ServerFrame[];
  /** All frames of a type, in order. */
  of<Type extends ServerFrame['type']>(type: Type): readonly Extract<ServerFrame, { type: Type }>[];
  readonly rows: readonly Row[];
  readonly cursor: string;
  /** Waits for a message to a chat whose text has this part. */
  answer(chat: string, part: string): Promise<Row>;
  /** Waits for the end of the turn with this answer, which comes behind its row. */
  end(text: string): Promise<LiveEvent>;
}

let made = 0;

/** An id as the page makes one for each thing that it sends. */
export function newId(): string {
  made += 1;
  return `message-${process.pid}-${made}`;
}

export async function pageClient({ assistant }: Pick<World, 'assistant'>): Promise<PageClient> {
  const { link } = await assistant.call('pageLink', {});
  const [address = '', code = ''] = link.split('/#login=');
  const json = { 'Content-Type': 'application/json', Origin: address };
  const login = await fetch(`${address}/login`, { method: 'POST', headers: json, body: JSON.stringify({ code }) });
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const key = login.headers.get('x-assistant-login') ?? '';
  const headers = { Cookie: cookie, 'X-Assistant-Login': key, Origin: address };
  const post = async (path: string, body: object): Promise<Reply> => {
    const sent = { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) };
    const response = await fetch(address + path, sent);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const get = (path: string): Promise<Response> => fetch(address + path, { headers });
  return {
    address,
    headers,
    get,
    post,
    say: (chat, text, more = {}) => post('/api/messages', { id: newId(), chat, text, ...more }),
    upload: async (name, type, bytes) => {
      const sent = { method: 'POST', headers: { ...headers, 'Content-Type': type }, body: Buffer.from(bytes) };
      const response = await fetch(`${address}/api/uploads?name=${encodeURIComponent(name)}`, sent);
      return (await response.json()) as UploadReply;
    },
    history: async (session, query = '') => {
      const response = await get(`/api/sessions/${encodeURIComponent(session)}/history?${query}`);
      return (await response.json()) as HistoryPage;
    },
    follow: (after) => follow(address, headers, after),
  };
}

async function follow(address: string, headers: PageClient['headers'], after?: string): Promise<Followed> {
  const query = after === undefined ? '' : `?after=${after}`;
  const socket = new WebSocket(`${address.replace('http:', 'ws:')}/ws${query}`, { headers });
  const frames: ServerFrame[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as ServerFrame));
  const of: Followed['of'] = (type) =>
    frames.filter((frame): frame is Extract<ServerFrame, { type: typeof type }> => frame.type === type);
  const followed: Followed = {
    socket,
    frames,
    of,
    get rows() {
      return of('rows').flatMap(({ rows }) => rows);
    },
    get cursor() {
      return of('rows').at(-1)?.cursor ?? of('hello')[0]?.cursor ?? '';
    },
    answer: (chat, part) =>
      waitFor(
        () =>
          of('rows')
            .flatMap(({ rows }) => rows)
            .find((row) => row.direction === 'out' && row.chat === chat && row.text.includes(part)),
        { what: `“${part}” in ${chat}` },
      ),
    end: (text) =>
      waitFor(() => of('live').find(({ event }) => event.type === 'turn-end' && event.result.text === text)?.event, {
        what: `the end of the turn that answers “${text}”`,
      }),
    [Symbol.dispose]: () => socket.terminate(),
  };
  await waitFor(() => of('questions').length > 0, { what: 'the first frames' });
  return followed;
}
