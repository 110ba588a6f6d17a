import type { IncomingMessage, ServerResponse } from 'node:http';
import { callerOf, pause, readBytes, replyJson, resetConnection, startServer, untilClosed } from './http.ts';
import { slackMethods } from './slack-methods.ts';
import { SlackSockets } from './slack-sockets.ts';
import { SlackError, SlackWorkspace, type SlackPost, type StoredFile } from './slack-workspace.ts';
import { readPayload } from './telegram-wire.ts';

type Content = Readonly<Record<string, unknown>>;

/** How one call goes wrong; `taken` says that the server did what was asked all the same. */
export type SlackFault =
  | 'reset-before'
  | 'reset-after'
  | 'hang'
  | { readonly error: string; readonly taken?: boolean }
  | { readonly status: number; /** Seconds. */ readonly retryAfter?: number; readonly taken?: boolean }
  | { readonly delayMs: number };

interface SlackCall {
  readonly method: string;
  readonly payload: Content;
  /** Who called, where its `apiUrl` is that of `apiUrlOf(NAME)`; '' otherwise. */
  readonly from: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** How it ended: a status, or the fault; undefined while it runs. */
  outcome: number | string | undefined;
}

export interface SendsOptions {
  readonly thread?: string;
  readonly files?: readonly StoredFile[];
  /** Put into the event. */
  readonly extra?: Content;
  /** Put into what histories give of it. @default nothing */
  readonly kept?: Content;
  /** Slack says it as a `message` event, as `app_mention` too, as that alone, or in no event at all. @default 'message' */
  readonly as?: 'message' | 'both' | 'mention' | 'nothing';
}

export interface FakeSlack extends AsyncDisposable {
  /** `channels.slack` without people. */
  readonly config: { readonly botToken: string; readonly appToken: string; readonly apiUrl: string };
  /** Its `apiUrl` for one caller of several, whose calls have its name. */
  apiUrlOf(name: string): string;
  readonly workspace: SlackWorkspace;
  readonly sockets: SlackSockets;
  readonly calls: readonly SlackCall[];
  /** What each person sees in the home of the app. */
  readonly homes: ReadonlyMap<string, unknown>;
  /** Files are served as a page that wants people to sign in. */
  signIn: boolean;
  /** The bot's posts, as they stand now. */
  readonly sentPosts: readonly SlackPost[];
  /** Somebody writes; returns the post's time, which is its id. */
  sends(user: string, chatId: string, text: string, options?: SendsOptions): string;
  edits(chatId: string, ts: string, text: string): void;
  presses(user: string, post: SlackPost, label: string): void;
  /** Somebody reacts to a post of the bot's by the name of an emoji, or takes that back. */
  reacts(user: string, post: { readonly chatId: string; readonly ts: string }, name: string, takenBack: boolean): void;
  commands(user: string, chatId: string, text: string): void;
  /** Somebody takes a shortcut from the menu of a post. */
  shortcut(user: string, callbackId: string, place: { readonly chatId: string; readonly ts: string }): void;
  opensHome(user: string): void;
  addFile(name: string, mimetype: string, bytes: Uint8Array, extra?: Content): StoredFile;
  /** The next `times` calls of the method fail so. @default once */
  faultNext(method: string, fault: SlackFault, times?: number): void;
  /** Decides for each call that `faultNext` leaves alone. */
  setFaultHandler(handler: ((method: string, payload: Content) => SlackFault | undefined) | undefined): void;
  /** Cuts every open connection. */
  cutAll(): void;
}

export interface FakeSlackOptions {
  readonly botToken?: string;
  readonly appToken?: string;
  /** How long an envelope waits for its acknowledgement. @default 1 s */
  readonly redeliverMs?: number;
}

/** A workspace with one app, over the Web API and Socket Mode. */
export async function startFakeSlack(options: FakeSlackOptions = {}): Promise<FakeSlack> {
  const { botToken = 'xoxb-test-bot-token', appToken = 'xapp-test-app-token', redeliverMs = 1_000 } = options;
  const workspace = new SlackWorkspace({ userId: 'U0TESTBOT', botId: 'B0TESTBOT', name: 'testbot' });
  const sockets = await SlackSockets.open(redeliverMs);
  const calls: SlackCall[] = [];
  const faults: { method: string; fault: SlackFault }[] = [];
  const homes = new Map<string, unknown>();
  const uploads = new Map<string, { name: string; bytes: Uint8Array }>();
  let faultHandler: Parameters<FakeSlack['setFaultHandler']>[0];
  let base = '';
  const state = { signIn: false };
  const methods = slackMethods({
    workspace,
    url: () => base,
    socketUrl: () => sockets.url,
    uploads,
    homes,
  });

  const takeFault = (method: string, payload: Content): SlackFault | undefined => {
    const at = faults.findIndex((entry) => entry.method === method);
    return at >= 0 ? faults.splice(at, 1)[0]?.fault : faultHandler?.(method, payload);
  };

  const perform = (method: string, payload: Content, token: string | undefined): Content => {
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined) return { ok: false, error: 'unknown_method' };
    const wanted = method === 'apps.connections.open' ? appToken : botToken;
    if (token !== wanted) return { ok: false, error: token === undefined ? 'not_authed' : 'invalid_auth' };
    try {
      return { ok: true, ...run(payload) };
    } catch (error) {
      if (error instanceof SlackError) return { ok: false, error: error.message, ...error.facts };
      throw error;
    }
  };

  const serveCall = async (
    { from, method }: Pick<SlackCall, 'from' | 'method'>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const payload = await readPayload(request, new URL(request.url ?? '/', 'http://localhost'));
    const call: SlackCall = { method, payload, from, at: Date.now(), outcome: undefined };
    calls.push(call);
    const fault = takeFault(method, payload);
    const refused =
      fault === 'reset-before' ||
      fault === 'hang' ||
      (isObject(fault) && !('delayMs' in fault) && fault.taken !== true);
    const token = request.headers.authorization?.replace(/^Bearer /u, '');
    const answer = refused ? { ok: false } : perform(method, payload, token);
    call.outcome = fault === undefined ? (answer['ok'] === true ? 200 : String(answer['error'])) : describeFault(fault);
    if (fault === 'reset-before' || fault === 'reset-after') resetConnection(response);
    else if (fault === 'hang') await untilClosed(response);
    else if (fault !== undefined && 'error' in fault) replyJson(response, 200, { ok: false, error: fault.error });
    else if (fault !== undefined && 'status' in fault) {
      const { status, retryAfter } = fault;
      const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
      replyJson(response, status, { ok: false, error: status === 429 ? 'ratelimited' : 'internal' }, headers);
    } else {
      if (fault !== undefined && !(await pause(response, fault.delayMs))) return;
      replyJson(response, 200, answer);
    }
  };

  const serveFile = (id: string, request: IncomingMessage, response: ServerResponse): void => {
    calls.push({ method: 'download', payload: { id }, from: '', at: Date.now(), outcome: 200 });
    const file = workspace.files.get(id);
    if (state.signIn || request.headers.authorization !== `Bearer ${botToken}`) {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end('<html><body>Sign in to your workspace</body></html>');
      return;
    }
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': file?.mimetype ?? 'text/plain' });
    response.end(file?.bytes);
  };

  const server = await startServer(async (request, response) => {
    const { from, path } = callerOf((request.url ?? '').split('?')[0] ?? '');
    const [, kind = '', rest = ''] = path.split('/');
    if (kind === 'api') await serveCall({ from, method: rest }, request, response);
    else if (kind === 'files') serveFile(rest, request, response);
    else if (kind === 'upload') {
      const payload = await readPayload(request, new URL('http://localhost'));
      const file = payload['body'];
      const known = uploads.get(rest);
      if (known !== undefined && isObject(file) && 'bytes' in file && file.bytes instanceof Uint8Array)
        known.bytes = file.bytes;
      response.end('OK');
    } else if (kind === 'respond') {
      await readBytes(request);
      const post = workspace.posts.find(({ ts }) => ts === rest);
      if (post !== undefined) post.gone = true;
      response.end('ok');
    } else replyJson(response, 404, {});
  });
  base = server.url;

  const event = (content: Content): string =>
    sockets.bring('events_api', {
      type: 'event_callback',
      team_id: 'T0TEST',
      api_app_id: 'A0TEST',
      event_id: workspace.newId('Ev'),
      event: content,
    });
  const placeOf = (chatId: string): Content => ({
    channel: chatId,
    channel_type: chatId.startsWith('D') ? 'im' : chatId.startsWith('G') ? 'group' : 'channel',
  });
  const close = async (): Promise<void> => {
    await sockets.close();
    await server.close();
  };

  return {
    config: { botToken, appToken, apiUrl: `${server.url}/api` },
    apiUrlOf: (name) => `${server.url}/from/${name}/api`,
    workspace,
    sockets,
    calls,
    homes,
    get signIn() {
      return state.signIn;
    },
    set signIn(on) {
      state.signIn = on;
    },
    get sentPosts() {
      return workspace.posts.filter(({ isBots, gone }) => isBots && gone !== true);
    },
    sends(user, chatId, text, { thread, files = [], extra = {}, kept = {}, as = 'message' } = {}) {
      const post = workspace.add({
        chatId,
        threadId: thread,
        user,
        isBots: user === workspace.bot.userId,
        text,
        raw: text,
        buttons: [],
        metadata: undefined,
        files,
        payload: {},
        kept,
      });
      const subtype = files.length === 0 ? {} : { subtype: 'file_share' };
      const content = { ...workspace.content(post), ...extra };
      if (as === 'both' || as === 'mention') event({ type: 'app_mention', ...content, channel: chatId });
      if (as === 'both' || as === 'message') event({ type: 'message', ...subtype, ...content, ...placeOf(chatId) });
      return post.ts;
    },
    reacts(user, { chatId, ts }, reaction, takenBack) {
      const type = takenBack ? 'reaction_removed' : 'reaction_added';
      const item = { type: 'message', channel: chatId, ts };
      event({ type, user, reaction, item, item_user: workspace.bot.userId, event_ts: workspace.newTime() });
    },
    edits(chatId, ts, text) {
      const post = workspace.find(chatId, ts);
      if (post === undefined) throw new Error(`there is no post ${ts}`);
      const before = workspace.content(post);
      Object.assign(post, { text, raw: text });
      const message = {
        type: 'message',
        ...workspace.content(post),
        edited: { user: post.user, ts: workspace.newTime() },
      };
      const place = { ...placeOf(chatId), ts: workspace.newTime() };
      event({ type: 'message', subtype: 'message_changed', ...place, message, previous_message: before });
    },
    presses(user, post, label) {
      const button = post.buttons.find((one) => one.label === label);
      if (button === undefined) throw new Error(`there is no button ${label}`);
      const thread = post.threadId === undefined ? {} : { thread_ts: post.threadId };
      sockets.bring('interactive', {
        type: 'block_actions',
        team: { id: 'T0TEST' },
        user: { id: user },
        channel: { id: post.chatId, name: 'chat' },
        container: { message_ts: post.ts, ...thread, is_ephemeral: post.onlyFor !== undefined },
        ...(post.onlyFor === undefined ? { message: { ts: post.ts, ...thread } } : {}),
        trigger_id: workspace.newId('trigger'),
        response_url: `${base}/respond/${post.ts}`,
        actions: [
          { type: 'button', action_id: 'b', block_id: 'r', action_ts: workspace.newTime(), value: button.value },
        ],
      });
    },
    commands(user, chatId, text) {
      workspace.open(chatId);
      sockets.bring('slash_commands', {
        command: '/assistant',
        text,
        user_id: user,
        channel_id: chatId,
        team_id: 'T0TEST',
        trigger_id: workspace.newId('trigger'),
        response_url: `${base}/respond/0`,
      });
    },
    shortcut(user, callbackId, { chatId, ts }) {
      const post = workspace.find(chatId, ts);
      if (post === undefined) throw new Error(`there is no post ${ts}`);
      sockets.bring('interactive', {
        type: 'message_action',
        callback_id: callbackId,
        action_ts: workspace.newTime(),
        trigger_id: workspace.newId('trigger'),
        response_url: `${base}/respond/${ts}`,
        team: { id: 'T0TEST' },
        user: { id: user, name: 'somebody' },
        channel: { id: chatId, name: 'chat' },
        message_ts: ts,
        message: { type: 'message', ...workspace.content(post) },
      });
    },
    opensHome(user) {
      event({
        type: 'app_home_opened',
        user,
        channel: `D${user.slice(1)}`,
        tab: 'home',
        event_ts: workspace.newTime(),
      });
    },
    addFile(name, mimetype, bytes, extra = {}) {
      const file = { id: workspace.newId('F'), name, mimetype, size: bytes.byteLength, bytes, extra };
      workspace.files.set(file.id, file);
      return file;
    },
    faultNext(method, fault, times = 1) {
      for (let count = 0; count < times; count += 1) faults.push({ method, fault });
    },
    setFaultHandler(handler) {
      faultHandler = handler;
    },
    cutAll() {
      sockets.cutAll();
      server.cutAll();
    },
    [Symbol.asyncDispose]: close,
  };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function describeFault(fault: SlackFault): string | number {
  if (typeof fault === 'string') return fault;
  if ('error' in fault) return fault.error;
  return 'status' in fault ? fault.status : 200;
}
