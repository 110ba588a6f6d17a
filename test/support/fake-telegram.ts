import type { IncomingMessage, ServerResponse } from 'node:http';
import { callerOf, pause, replyJson, resetConnection, startServer, untilClosed } from './http.ts';
import { BotApiError, Chats, type SentMessage, type ShownDraft } from './telegram-chats.ts';
import { describeFault, type FaultHandler, type TelegramFault } from './telegram-faults.ts';
import { botMethods, type StoredFile } from './telegram-methods.ts';
import { personMessage, personOf } from './telegram-people.ts';
import { UpdateQueue, type Update } from './telegram-updates.ts';
import { failure, readPayload, serveFile } from './telegram-wire.ts';

interface TelegramCall {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Who called, where its `apiRoot` is that of `apiRootOf(NAME)`; '' otherwise. */
  readonly from: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** How it ended: a status, or the fault; undefined while it runs. */
  outcome: number | string | undefined;
}

type Payload = Readonly<Record<string, unknown>>;

export interface FakeTelegram extends AsyncDisposable {
  /** What grammY takes as `apiRoot`. */
  readonly apiRoot: string;
  /** The same for one caller of several, whose calls have its name. */
  apiRootOf(name: string): string;
  readonly token: string;
  readonly bot: { readonly id: number; readonly username: string };
  /** What the bot's messages look like now, in the order in which they were first sent. */
  readonly sentMessages: readonly SentMessage[];
  /** Each that was shown, oldest first. */
  readonly drafts: readonly ShownDraft[];
  readonly calls: readonly TelegramCall[];
  /** Ids of updates that no offset has confirmed. */
  readonly unconfirmed: readonly number[];
  /** Whether a long poll is open now. */
  readonly polling: boolean;
  /** Someone writes; `extra` goes into the message (`from`, `chat`, `entities`, `reply_to_message`, …). */
  userSays(chatId: number, text: string, extra?: Payload): { readonly updateId: number; readonly messageId: number };
  /** Someone edits what they wrote. */
  userEdits(chatId: number, messageId: number, text: string, extra?: Payload): { readonly updateId: number };
  /** Someone presses a button of a message; `from` says who, in a group. */
  userPresses(
    chatId: number,
    messageId: number,
    data: string,
    from?: Payload,
  ): { readonly updateId: number; readonly queryId: string };
  /** Someone changes their reactions on a message; in a group the bot is told only where it is an administrator. */
  userReacts(
    chatId: number,
    messageId: number,
    change: { readonly before?: readonly string[]; readonly after: readonly string[] },
    from?: Payload,
  ): { readonly updateId: number };
  /** The bot's reaction on a message; '' for none. */
  reactionOn(chatId: number, messageId: number): string;
  /** Any update; an `update_id` is given to it unless it has one. */
  pushUpdate(update: Payload): Update;
  /** Hands an update out once more, even if confirmed; `asNew`: under a new update id. */
  duplicateUpdate(updateId: number, options?: { readonly asNew?: boolean }): Update;
  /** The next `times` calls of the method fail so. @default once */
  faultNext(method: string, fault: TelegramFault, times?: number): void;
  /** Decides for each call that `faultNext` leaves alone; undefined: no handler. */
  setFaultHandler(handler: FaultHandler | undefined): void;
  /** The updates of a batch come in the order of these numbers. @default of their ids */
  orderBatches(placeOf: (update: Update) => number): void;
  /** A file for getFile and its download. */
  addFile(fileId: string, content: Uint8Array, path?: string): void;
  /** Cuts every open connection. */
  cutAll(): void;
  close(): Promise<void>;
}

export interface FakeTelegramOptions {
  readonly token?: string;
  /** Whether it knows of drafts, as servers do since version 9.3. @default false */
  readonly drafts?: boolean;
}

/** A Bot API server for one bot. Its state lives as long as the test, whatever happens to the client. */
export async function startFakeTelegram(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  const token = options.token ?? '123456:TEST-token';
  const me = { id: Number(token.split(':')[0]), is_bot: true, first_name: 'Test Bot', username: 'test_bot' };
  const chats = new Chats(me);
  const queue = new UpdateQueue();
  const calls: TelegramCall[] = [];
  const faults: { readonly method: string; readonly fault: TelegramFault }[] = [];
  const files = new Map<string, StoredFile>();
  const queries = new Set<string>();
  let faultHandler: FaultHandler | undefined;
  let queryCount = 0;

  const takeFault = (method: string, payload: Payload): TelegramFault | undefined => {
    const at = faults.findIndex((entry) => entry.method === method);
    if (at >= 0) return faults.splice(at, 1)[0]?.fault;
    return faultHandler?.({ method, payload, index: calls.length - 1 });
  };

  const methods = botMethods({ drafts: options.drafts === true, chats, files, queries });

  /** Does what the method asks; undefined when the client of a poll left. */
  const perform = async (method: string, payload: Payload, response: ServerResponse): Promise<unknown> => {
    if (method !== 'getUpdates') {
      const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (run === undefined) throw new BotApiError(404, 'Not Found');
      return run(payload);
    }
    const allowed = payload['allowed_updates'];
    const polled = await queue.poll(
      {
        offset: Number(payload['offset'] ?? 0),
        limit: Math.min(100, Math.max(1, Number(payload['limit'] ?? 100))),
        timeout: Number(payload['timeout'] ?? 0),
        allowed: Array.isArray(allowed) ? allowed.map(String) : undefined,
      },
      response,
    );
    if ('updates' in polled) return polled.updates;
    if ('gone' in polled) return undefined;
    throw new BotApiError(
      409,
      'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
    );
  };

  const serveCall = async (
    from: string,
    method: string,
    { payload, response }: { readonly payload: Payload; readonly response: ServerResponse },
  ): Promise<void> => {
    const call: TelegramCall = { method, payload, from, at: Date.now(), outcome: undefined };
    calls.push(call);
    const given = takeFault(method, payload);
    const fault = given === undefined ? undefined : describeFault(given);
    let status = 200;
    let answer: unknown;
    if (fault?.taken !== false) {
      try {
        const result = await perform(method, payload, response);
        answer = { ok: true, result };
        if (result === undefined) {
          call.outcome = 'client gone';
          return;
        }
      } catch (error) {
        if (!(error instanceof BotApiError)) throw error;
        status = error.status;
        answer = failure(error.status, error.message);
      }
    }
    if (fault?.delayMs !== undefined && !(await pause(response, fault.delayMs))) {
      call.outcome = 'client gone';
      return;
    }
    call.outcome = fault?.label ?? status;
    switch (fault?.end) {
      case 'reset':
        resetConnection(response);
        return;
      case 'hang':
        await untilClosed(response);
        return;
      case 'html':
        response.writeHead(fault.status, { 'content-type': 'text/html' });
        response.end(`<html><body><h1>${fault.status}</h1></body></html>`);
        return;
      case 'json':
        replyJson(response, fault.status, failure(fault.status, fault.description, fault.retryAfter, fault.movedTo));
        return;
      case 'answer':
      case undefined:
        replyJson(response, status, fault?.result === undefined ? answer : { ok: true, result: fault.result });
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const payload = await readPayload(request, url);
    const { from, path } = callerOf(url.pathname);
    const [, kind, given, rest] = /^\/(bot|file\/bot)([^/]*)\/(.*)$/u.exec(path) ?? [];
    if (given === undefined || rest === undefined) replyJson(response, 404, failure(404, 'Not Found'));
    else if (given !== token) replyJson(response, 401, failure(401, 'Unauthorized'));
    else if (kind === 'bot') await serveCall(from, rest, { payload, response });
    else serveFile([...files.values()].find((file) => file.path === rest)?.content, response);
  };
  const server = await startServer(serve);

  return {
    apiRoot: server.url,
    apiRootOf: (name) => `${server.url}/from/${name}`,
    token,
    bot: me,
    sentMessages: chats.sent,
    drafts: chats.drafts,
    calls,
    get unconfirmed() {
      return queue.unconfirmed;
    },
    get polling() {
      return queue.polling;
    },
    userSays(chatId, text, extra = {}) {
      const messageId = chats.newMessageId(chatId);
      const update = queue.push({ message: personMessage(chats, { chatId, messageId, text, extra }) });
      return { updateId: update.update_id, messageId };
    },
    userEdits(chatId, messageId, text, extra = {}) {
      const edited = { edit_date: Math.floor(Date.now() / 1000), ...extra };
      const message = personMessage(chats, { chatId, messageId, text, extra: edited });
      return { updateId: queue.push({ edited_message: message }).update_id };
    },
    userPresses(chatId, messageId, data, from = {}) {
      queryCount += 1;
      const queryId = `query${queryCount}`;
      queries.add(queryId);
      const sent = chats.sent.find((one) => one.chatId === chatId && one.messageId === messageId);
      const pressed = { ...personMessage(chats, { chatId, messageId, text: sent?.visibleText ?? '' }), from: me };
      const query = { id: queryId, from: personOf(chatId, from), message: pressed, chat_instance: '1', data };
      return { updateId: queue.push({ callback_query: query }).update_id, queryId };
    },
    userReacts(chatId, messageId, { before = [], after }, from = {}) {
      const types = (emojis: readonly string[]): unknown => emojis.map((emoji) => ({ type: 'emoji', emoji }));
      const change = { message_id: messageId, old_reaction: types(before), new_reaction: types(after) };
      const { chat, date } = personMessage(chats, { chatId, messageId, text: '' });
      const user = personOf(chatId, from);
      return { updateId: queue.push({ message_reaction: { ...change, chat, date, user } }).update_id };
    },
    reactionOn: (chatId, messageId) => chats.reactionOn(chatId, messageId),
    pushUpdate: (update) => queue.push(update),
    duplicateUpdate: (updateId, how) => queue.repeat(updateId, how),
    faultNext(method, fault, times = 1) {
      for (let count = 0; count < times; count += 1) faults.push({ method, fault });
    },
    setFaultHandler(handler) {
      faultHandler = handler;
    },
    orderBatches(placeOf) {
      queue.placeOf = placeOf;
    },
    addFile: (fileId, content, path = `documents/${fileId}`) => void files.set(fileId, { content, path }),
    cutAll: () => server.cutAll(),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
