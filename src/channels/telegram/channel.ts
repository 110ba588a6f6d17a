import { Api } from 'grammy/web';
import { deadline, type Clock } from '../../util/clock.ts';
import type { Random } from '../../util/random.ts';
import {
  SendError,
  ChannelError,
  type Channel,
  type ChannelContext,
  type ChannelHealth,
  type OutgoingPart,
  type Stranger,
} from '../channel.ts';
import { GroupTalk } from '../inbound/group-talk.ts';
import { receive, type Received } from '../inbound/writer.ts';
import { renderTelegram, telegramMarkup } from '../markup/telegram.ts';
import { inboundResult, unknownShape } from '../inbound/inbound-result.ts';
import { LARGEST_DOWNLOAD } from './attachments.ts';
import { callFailure, isTokenRefused, isUnchanged, tokenRefused, toSendError } from './errors.ts';
import { forGrammy, openTransport, type Transport } from './transport.ts';
import { readUpdate } from './inbound.ts';
import { Drafts } from './drafts.ts';
import { showMenu } from './menu.ts';
import type { TelegramOptions } from './options.ts';
import { sendFile, type SendAddress } from './send-file.ts';
import { sendHtml } from './send-html.ts';
import { pollUpdates } from './poll.ts';
import { UnknownSenders } from '../inbound/unknown-senders.ts';
import { botAccount, updateBody, type BotAccount, type TelegramUpdate } from './update.ts';

const PRESS_DEADLINE_MS = 10_000;
const HELLO_DEADLINE_MS = 20_000;
/** A poll is answered within 30 s, and cut off after 40. */
const QUIET_MS = 150_000;

/** A connection to the Bot API, from start to disposal. */
interface Connection {
  readonly api: Api;
  readonly transport: Transport;
  readonly me: BotAccount;
  readonly context: ChannelContext;
}

/** A Telegram bot, through the Bot API's long polling. */
export class TelegramChannel implements Channel {
  readonly name: string;
  readonly kind = 'telegram';
  readonly capabilities = {
    maxLength: 4096,
    edit: true,
    typing: true,
    buttons: true,
    threads: true,
    media: true,
    reactions: false,
    drafts: true,
  };
  readonly #options: TelegramOptions;
  readonly #random: Random;
  readonly #strangers: UnknownSenders;
  readonly #talk: GroupTalk;
  readonly #drafts = new Drafts();
  #connection: Connection | undefined;
  #health: ChannelHealth = { state: 'stopped' };

  constructor(name: string, options: TelegramOptions, random: Random) {
    this.name = name;
    this.#options = options;
    this.#random = random;
    this.#strangers = new UnknownSenders(name);
    this.#talk = new GroupTalk(options.groups);
  }

  async start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable> {
    this.#health = { state: 'starting' };
    const transport = openTransport(context.clock);
    try {
      const api = this.#openApi(transport);
      const me = await this.#hello(api, context.clock, signal);
      const connection: Connection = { api, transport, me, context };
      this.#connection = connection;
      this.#health = this.#running(undefined);
      this.#hintAtPrivacy(me, context);
      const stop = new AbortController();
      const until = AbortSignal.any([signal, stop.signal]);
      const polling = this.#poll(connection, until);
      const { owners, allowFrom } = this.#options;
      const menu = { commands: context.commands, owners: owners.length > 0 ? owners : allowFrom, log: context.log };
      if (context.commands.length > 0) void showMenu(api, menu, forGrammy(until));
      return {
        [Symbol.asyncDispose]: async () => {
          stop.abort();
          this.#connection = undefined;
          this.#health = { state: 'stopped' };
          await polling;
          transport[Symbol.dispose]();
        },
      };
    } catch (error) {
      transport[Symbol.dispose]();
      this.#health = { state: 'stopped' };
      throw error;
    }
  }

  render(markdown: string): readonly string[] {
    return renderTelegram(markdown);
  }

  plain(text: string): readonly string[] {
    return telegramMarkup.literal(text);
  }

  async send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }> {
    const { api } = this.#connected();
    try {
      const [file] = part.media;
      const sent = await (file === undefined
        ? this.#sendText(api, part, signal)
        : sendFile(api, { ...addressOf(part), ...file }, forGrammy(signal)));
      this.#noteAnswered(part);
      return { platformId: String(sent.message_id) };
    } catch (error) {
      throw toSendError(error);
    }
  }

  /** Replaces text and buttons of a message; one that looks so already is left alone. */
  async edit(part: OutgoingPart & { readonly platformId: string }, signal: AbortSignal): Promise<void> {
    const { api } = this.#connected();
    const message = {
      chat_id: part.chatId,
      message_id: Number(part.platformId),
      link_preview_options: { is_disabled: true },
      ...(part.buttons === undefined ? {} : { reply_markup: keyboardOf(part.buttons) }),
    };
    try {
      await sendHtml(part.text, (text) => api.raw.editMessageText({ ...message, ...text }, forGrammy(signal)));
    } catch (error) {
      if (!isUnchanged(error)) throw toSendError(error);
    }
    this.#noteAnswered(part);
  }

  async draft(part: OutgoingPart, signal: AbortSignal): Promise<boolean> {
    return await this.#drafts.show(this.#connected().api, part, signal);
  }

  async typing(chat: { readonly chatId: string; readonly threadId?: string }, signal: AbortSignal): Promise<void> {
    const { api } = this.#connected();
    await api.raw.sendChatAction({ chat_id: chat.chatId, action: 'typing', ...threadOf(chat) }, forGrammy(signal));
  }

  async download(
    source: string,
    { maxBytes }: { readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const { api, transport } = this.#connected();
    const { apiRoot, token } = this.#options;
    try {
      const { file_path: path } = await api.raw.getFile({ file_id: source }, forGrammy(signal));
      if (path === undefined) throw new SendError('permanent', 'Telegram has no path for this file');
      const address = `${apiRoot ?? 'https://api.telegram.org'}/file/bot${token}/${path}`;
      return await transport.file(address, { maxBytes: Math.min(maxBytes, LARGEST_DOWNLOAD), signal });
    } catch (error) {
      throw error instanceof SendError ? error : toSendError(error);
    }
  }

  health(): ChannelHealth {
    return this.#health;
  }

  #openApi(transport: Transport): Api {
    const { token, apiRoot } = this.#options;
    return new Api(token, {
      ...(apiRoot == null ? {} : { apiRoot }),
      fetch: transport.call,
    });
  }

  async #hello(api: Api, clock: Clock, signal: AbortSignal): Promise<BotAccount> {
    using limit = deadline(clock, HELLO_DEADLINE_MS, 'Asking Telegram for the bot');
    try {
      return botAccount.parse(await api.raw.getMe(forGrammy(AbortSignal.any([signal, limit.signal]))));
    } catch (error) {
      const failure = callFailure(error);
      throw isTokenRefused(failure) ? tokenRefused(this.name) : new ChannelError(failure.reason, { retry: true });
    }
  }

  async #poll({ api, me, context }: Connection, signal: AbortSignal): Promise<void> {
    const { clock, log } = context;
    const ended = await pollUpdates(
      {
        getUpdates: (query, cut) =>
          api.raw.getUpdates(
            { ...query, allowed_updates: ['message', 'edited_message', 'callback_query'] },
            forGrammy(cut),
          ),
        take: (updates) => this.#take(updates, { me, context, signal }),
        report: (trouble) => {
          this.#health = this.#running(trouble);
        },
        clock,
        log,
        random: this.#random,
      },
      signal,
    );
    if (ended === 'token-refused') context.fail(tokenRefused(this.name));
  }

  /** Reads a batch once; one transaction for all of it. */
  async #take(
    updates: readonly unknown[],
    { me, context, signal }: Pick<Connection, 'me' | 'context'> & { readonly signal: AbortSignal },
  ): Promise<void> {
    const { clock, log } = context;
    const now = clock.now();
    const { allowFrom, owners, groups } = this.#options;
    const access = { allowFrom, owners, groups };
    const reading = { channel: this.name, me, access, pairedRole: (id: string) => context.pairedRole(id), now };
    const received: Received[] = [];
    const strangers = new Map<string, Stranger>();
    const pressed: string[] = [];
    for (const update of updates) {
      const one = receive(update, () => {
        const body = understood(update);
        const read = readUpdate(body, reading);
        if (read.type === 'stranger') {
          const { sender, chatId, where } = read;
          this.#strangers.note(sender, now, log);
          if (where === 'direct') strangers.set(sender.id, { senderId: sender.id, name: sender.name, chatId });
        }
        if (body.callback_query !== undefined) pressed.push(body.callback_query.id);
        return inboundResult(read, this.#talk);
      });
      if (one !== null) received.push(one);
    }
    await context.write(received, { signal });
    await Promise.all([...strangers.values()].map((stranger) => context.knock(stranger)));
    for (const id of pressed) void this.#confirmPress(id, context);
  }

  /** An answer is there: whoever asked may go on without a mention. */
  #noteAnswered(part: OutgoingPart): void {
    if (part.kind === 'answer') this.#talk.answered(part, this.#connected().context.clock.now());
  }

  /** Ends the waiting look of a pressed button; what came of it is told in the chat. */
  async #confirmPress(id: string, { clock, log }: ChannelContext): Promise<void> {
    using limit = deadline(clock, PRESS_DEADLINE_MS, 'Confirming a pressed button');
    try {
      await this.#connected().api.raw.answerCallbackQuery({ callback_query_id: id }, forGrammy(limit.signal));
    } catch (error) {
      log.debug('channels: a pressed button could not be confirmed', { reason: callFailure(error).reason });
    }
  }

  #sendText(api: Api, part: OutgoingPart, signal: AbortSignal): Promise<{ message_id: number }> {
    const { log } = this.#connected().context;
    const message = {
      ...addressOf(part),
      link_preview_options: { is_disabled: true },
      ...(part.buttons === undefined ? {} : { reply_markup: keyboardOf(part.buttons) }),
    };
    return sendHtml(
      part.text,
      (text) => api.raw.sendMessage({ ...message, ...text }, forGrammy(signal)),
      () => log.warn('telegram: markup refused, sending plain text', { id: part.messageId }),
    );
  }

  #connected(): Connection {
    if (this.#connection === undefined) throw new SendError('retryable', `channel "${this.name}" is not running`);
    return this.#connection;
  }

  #running(trouble: string | undefined): ChannelHealth {
    const heard = trouble === undefined ? this.#connection?.context.clock.now() : this.#health.lastInboundAt;
    return {
      state: trouble === undefined ? 'running' : 'reconnecting',
      ...(trouble === undefined ? {} : { detail: trouble }),
      ...(heard === undefined ? {} : { lastInboundAt: heard }),
      quietMs: QUIET_MS,
    };
  }

  /** In privacy mode a bot is not sent what does not mean it, so it can neither read along nor be open. */
  #hintAtPrivacy({ can_read_all_group_messages: readsAll }: BotAccount, { log }: ChannelContext): void {
    if (this.#options.groups.policy !== 'open' || readsAll) return;
    log.warn(
      `channels.${this.name}.groups.policy is "open", but Telegram sends this bot only what means it: switch its privacy mode off at @BotFather (/setprivacy), then add it to the group again.`,
    );
  }
}

/** Throws one sentence for an update of an unknown shape. */
function understood(update: unknown): TelegramUpdate {
  const parsed = updateBody.safeParse(update);
  if (parsed.success) return parsed.data;
  throw unknownShape(parsed.error);
}

function keyboardOf(buttons: NonNullable<OutgoingPart['buttons']>): {
  inline_keyboard: { text: string; callback_data: string }[][];
} {
  return { inline_keyboard: buttons.map((row) => row.map(({ id, label }) => ({ text: label, callback_data: id }))) };
}

/** Where and how any kind of message goes. */
function addressOf(part: OutgoingPart): SendAddress {
  const { chatId, replyTo, silent } = part;
  return {
    chat_id: chatId,
    ...threadOf(part),
    ...(replyTo === undefined
      ? {}
      : { reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true } }),
    ...(silent === true ? { disable_notification: true } : {}),
  };
}

function threadOf({ threadId }: { readonly threadId?: string }): { message_thread_id?: number } {
  return threadId === undefined ? {} : { message_thread_id: Number(threadId) };
}
