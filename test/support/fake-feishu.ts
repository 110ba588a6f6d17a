import type { IncomingMessage, ServerResponse } from 'node:http';
import { FeishuLine } from './feishu-line.ts';
import { FeishuRefusal, FeishuTenant, type FeishuMessage } from './feishu-tenant.ts';
import { pause, readBytes, replyJson, resetConnection, startServer, untilClosed } from './http.ts';

type Content = Readonly<Record<string, unknown>>;

/** How a call goes wrong. */
export type FeishuFault =
  | 'reset-before'
  | 'reset-after'
  | 'hang'
  | { readonly code: number; readonly status?: number; /** Seconds. */ readonly resetAfter?: number }
  | { readonly status: number }
  | { readonly delayMs: number };

export interface FeishuCall {
  /** As `POST /im/v1/messages`. */
  readonly route: string;
  readonly body: Content;
  /** The chat that the call is about. */
  readonly chatId: string | undefined;
}

interface Answer {
  readonly data?: Content;
  /** Beside `code` and `msg`. */
  readonly beside?: Content;
  readonly file?: { readonly bytes: Uint8Array; readonly size: number };
}

export interface FakeFeishu extends AsyncDisposable {
  /** `channels.feishu` without people. */
  readonly config: {
    readonly kind: 'feishu';
    readonly appId: string;
    readonly appSecret: string;
    readonly domain: string;
  };
  readonly tenant: FeishuTenant;
  readonly line: FeishuLine;
  readonly calls: readonly FeishuCall[];
  setFaultHandler(handler: (call: FeishuCall) => FeishuFault | undefined): void;
  /** A person's message becomes an event. */
  bring(message: FeishuMessage): void;
  presses(person: string, message: FeishuMessage, label: string): void;
  /** The token that the app has is not valid any more. */
  forgetToken(): void;
  /** Cuts every open connection. */
  cutAll(): void;
}

const SECRET = 'test-app-secret';

/** Feishu's open platform for one app: messages over HTTP, events over the long connection. */
export async function startFakeFeishu({
  appId = 'cli_00000000000000aa',
  redeliverMs = 1_000,
}: { readonly appId?: string; readonly redeliverMs?: number } = {}): Promise<FakeFeishu> {
  const tenant = new FeishuTenant(appId);
  const line = await FeishuLine.open(redeliverMs);
  const calls: FeishuCall[] = [];
  let token = 't-test-tenant-token-1';
  let faultOf: (call: FeishuCall) => FeishuFault | undefined = () => undefined;

  const perform = (route: string, id: string, body: Content, query: URLSearchParams): Answer => {
    const [, , inner = ''] = route.split(':');
    switch (route) {
      case 'GET /bot/v3/info':
        return { beside: { bot: { activate_status: 2, app_name: tenant.app.name, open_id: tenant.app.openId } } };
      case 'POST /im/v1/messages':
        return { data: shown(tenant.send(String(body['receive_id']), body)) };
      case 'POST /im/v1/messages/:/reply':
        return { data: shown(tenant.send(tenant.message(id).chatId, body, tenant.message(id))) };
      case 'PATCH /im/v1/messages/:':
        return { data: shown(tenant.edit(id, 'card', body['content'])) };
      case 'PUT /im/v1/messages/:':
        return { data: shown(tenant.edit(id, 'text', body['content'])) };
      case 'GET /im/v1/messages/:': {
        const message = tenant.message(id);
        const hasNames = query.get('with_sender_name') === 'true';
        return { data: { items: [message, ...message.inner].map((one) => fetched(one, tenant, hasNames)) } };
      }
      case 'GET /im/v1/chats/:': {
        const chat = tenant.chats.get(id);
        if (chat === undefined) throw new FeishuRefusal(232_006, 'Your request specifies a chat that is not there.');
        return { data: { chat_mode: chat.mode } };
      }
      case 'POST /im/v1/messages/:/reactions': {
        const emoji = String((body['reaction_type'] as Content)['emoji_type']);
        const reaction = { id: tenant.newId('r'), messageId: tenant.message(id).id, emoji, isGone: false };
        tenant.reactions.push(reaction);
        return { data: { reaction_id: reaction.id } };
      }
      default:
        throw new FeishuRefusal(99_991_672, `there is no ${route}${inner}`);
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const bytes = await readBytes(request);
    const isForm = (request.headers['content-type'] ?? '').startsWith('multipart/');
    const body = isForm
      ? Object.fromEntries(
          await new Response(bytes, { headers: { 'content-type': request.headers['content-type'] ?? '' } }).formData(),
        )
      : bytes.length === 0
        ? {}
        : (JSON.parse(bytes.toString('utf8')) as Content);
    const path = url.pathname.replace('/open-apis', '');
    if (path === '/callback/ws/endpoint') {
      const isRight = body['AppID'] === appId && body['AppSecret'] === SECRET;
      const ClientConfig = { PingInterval: 120, ReconnectCount: -1, ReconnectInterval: 1, ReconnectNonce: 0 };
      replyJson(
        response,
        200,
        isRight
          ? { code: 0, msg: '', data: { URL: line.url, ClientConfig } }
          : { code: 514, msg: 'auth failed', data: {} },
      );
      return;
    }
    if (path === '/auth/v3/tenant_access_token/internal') {
      const isRight = body['app_id'] === appId && body['app_secret'] === SECRET;
      replyJson(
        response,
        200,
        isRight
          ? { code: 0, msg: 'ok', tenant_access_token: token, expire: 7_200 }
          : { code: 10_014, msg: 'app secret invalid' },
      );
      return;
    }
    if (request.headers.authorization !== `Bearer ${token}`) {
      replyJson(response, 400, {
        code: 99_991_663,
        msg: 'Invalid access token for authorization. Please make a test attempt with the correct token.',
      });
      return;
    }
    const id = /\/(?<id>(?:om|oc)_[0-9a-f]+)/u.exec(path)?.groups?.['id'] ?? '';
    const file = /\/resources\/(?<key>\w+)$/u.exec(path)?.groups?.['key'];
    const route = `${request.method} ${path.replace(id === '' ? '\0' : id, ':')}`;
    const chatId =
      typeof body['receive_id'] === 'string'
        ? body['receive_id']
        : tenant.messages.find((one) => one.id === id)?.chatId;
    const call = { route, body, chatId };
    calls.push(call);
    const fault = faultOf(call);
    if (fault === 'reset-before') {
      resetConnection(response);
      return;
    }
    if (fault === 'hang') {
      await untilClosed(response);
      return;
    }
    if (typeof fault === 'object' && !('delayMs' in fault)) {
      const { status = 400 } = fault;
      if (!('code' in fault)) response.writeHead(status).end('<html>upstream</html>');
      else
        replyJson(
          response,
          status,
          { code: fault.code, msg: 'refused' },
          fault.resetAfter === undefined ? {} : { 'x-ogw-ratelimit-reset': String(fault.resetAfter) },
        );
      return;
    }
    if (file !== undefined) {
      serveFile(file, response);
      return;
    }
    try {
      const answer = isForm
        ? await upload(path, body)
        : request.method === 'DELETE'
          ? remove(path)
          : perform(route, id, body, url.searchParams);
      if (fault === 'reset-after') resetConnection(response);
      else if (typeof fault !== 'object' || (await pause(response, fault.delayMs)))
        replyJson(response, 200, {
          code: 0,
          msg: 'success',
          ...answer.beside,
          ...(answer.data === undefined ? {} : { data: answer.data }),
        });
    } catch (error) {
      if (!(error instanceof FeishuRefusal)) throw error;
      replyJson(response, 400, { code: error.code, msg: error.message });
    }
  };

  const serveFile = (key: string, response: ServerResponse): void => {
    const file = tenant.files.get(key);
    if (file === undefined) {
      replyJson(response, 400, { code: 234_003, msg: 'File not in msg.' });
      return;
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': file.size });
    response.write(file.bytes);
    if (file.size === file.bytes.byteLength) response.end();
  };

  const upload = async (path: string, body: Content): Promise<Answer> => {
    const isImage = path === '/im/v1/images';
    const part = body[isImage ? 'image' : 'file'];
    if (!(part instanceof Blob)) throw new FeishuRefusal(234_001, 'Invalid request param.');
    const bytes = new Uint8Array(await part.arrayBuffer());
    if (bytes.byteLength === 0) throw new FeishuRefusal(234_010, "File's size can't be 0.");
    const key = tenant.addFile(
      isImage ? 'img' : 'file',
      typeof body['file_name'] === 'string' ? body['file_name'] : '',
      bytes,
    );
    return { data: isImage ? { image_key: key } : { file_key: key } };
  };

  const remove = (path: string): Answer => {
    const reaction = tenant.reactions.find(({ id }) => path.endsWith(`/reactions/${id}`));
    if (reaction === undefined) throw new FeishuRefusal(231_007, 'The reaction is not there.');
    reaction.isGone = true;
    return { data: {} };
  };

  const server = await startServer(serve);
  return {
    config: { kind: 'feishu', appId, appSecret: SECRET, domain: server.url },
    tenant,
    line,
    calls,
    setFaultHandler: (handler) => {
      faultOf = handler;
    },
    bring: (message) => line.bring('im.message.receive_v1', eventOf(message, tenant)),
    presses: (person, message, label) => {
      const value = buttonsOf(message.content).find((button) => button.label === label)?.value;
      if (value === undefined) throw new Error(`there is no button ${label}`);
      line.bring('card.action.trigger', {
        operator: { open_id: person, tenant_key: 'tenant' },
        token: 'c-token',
        action: { tag: 'button', value },
        host: 'im_message',
        context: { open_message_id: message.id, open_chat_id: message.chatId },
      });
    },
    forgetToken: () => {
      token = `${token}1`;
    },
    cutAll: () => {
      line.cutAll();
      server.cutAll();
    },
    [Symbol.asyncDispose]: async () => {
      await line.close();
      await server.close();
    },
  };
}

/** The buttons of a card, in reading order. */
export function buttonsOf(value: unknown): readonly { readonly label: string; readonly value: unknown }[] {
  if (Array.isArray(value)) return value.flatMap(buttonsOf);
  if (typeof value !== 'object' || value === null) return [];
  if (!('tag' in value) || value.tag !== 'button') return Object.values(value).flatMap(buttonsOf);
  const { text, behaviors } = value as unknown as { text: { content: string }; behaviors: { value: unknown }[] };
  return [{ label: text.content, value: behaviors[0]?.value }];
}

function shown({ id, chatId, threadId }: FeishuMessage): Content {
  return { message_id: id, chat_id: chatId, ...(threadId === undefined ? {} : { thread_id: threadId }) };
}

function placed({ id, rootId, parentId, threadId, chatId, at }: FeishuMessage): Content {
  return {
    message_id: id,
    ...(rootId === undefined ? {} : { root_id: rootId }),
    ...(parentId === undefined ? {} : { parent_id: parentId }),
    ...(threadId === undefined ? {} : { thread_id: threadId }),
    chat_id: chatId,
    create_time: String(at),
  };
}

function fetched(message: FeishuMessage, tenant: FeishuTenant, hasNames: boolean): Content {
  const isApp = message.sender === tenant.app.id;
  const name = isApp ? tenant.app.name : tenant.people.get(message.sender);
  const sender = { id: message.sender, id_type: isApp ? 'app_id' : 'open_id', sender_type: isApp ? 'app' : 'user' };
  return {
    ...placed(message),
    msg_type: message.type,
    body: {
      content: message.type === 'merge_forward' ? 'Merged and Forwarded Message' : JSON.stringify(message.content),
    },
    mentions: message.mentions.map(({ key, name, id }) => ({
      key,
      name,
      id: (id as Content)['open_id'],
      id_type: 'open_id',
    })),
    sender: { ...sender, ...(hasNames && name !== undefined ? { sender_name: name } : {}) },
  };
}

function eventOf(message: FeishuMessage, tenant: FeishuTenant): Content {
  const { chatId, type, sender, content, mentions } = message;
  return {
    sender: { sender_id: { open_id: sender, union_id: `on_${sender}` }, sender_type: 'user', tenant_key: 'tenant' },
    message: {
      ...placed(message),
      chat_type: tenant.chats.get(chatId)?.mode ?? 'group',
      message_type: type,
      content: type === 'merge_forward' ? 'Merged and Forwarded Message' : JSON.stringify(content),
      ...(mentions.length === 0 ? {} : { mentions }),
    },
  };
}
