import * as z from 'zod';
import { systemRandom } from '../../core/api.ts';
import {
  channelOptions,
  PlatformChannel,
  SendError,
  type OutgoingPart,
  type Platform,
} from '../../core/api-channels.ts';
import { telegramMarkup } from './markup.ts';
import { LARGEST_DOWNLOAD } from './attachments.ts';
import { connect, type TelegramConnection } from './connection.ts';
import { Drafts } from './drafts.ts';
import { isUnchanged, toSendError } from './errors.ts';
import { telegramOptions, type TelegramOptions } from './options.ts';
import { react, telegramReactions } from './reactions.ts';
import { sendAlbum, sendFile, telegramAlbum, type Caption, type SendAddress } from './send-file.ts';
import { sendHtml } from './send-html.ts';
import { forGrammy } from './transport.ts';

/** Health: the channel counts as stuck without an answer for this long. A long poll is answered within 30 s. */
const QUIET_MS = 150_000;

/** The channel of an entry. */
export function openTelegram(
  name: string,
  settings: Readonly<Record<string, unknown>>,
): PlatformChannel<TelegramConnection> {
  return new PlatformChannel(name, telegram(channelOptions(name, settings, telegramOptions)), systemRandom);
}

/** A Telegram bot, through the Bot API's long polling. */
export function telegram(options: TelegramOptions): Platform<TelegramConnection> {
  const drafts = new Drafts();
  return {
    kind: 'telegram',
    shows: { maxLength: 4096, buttons: true, threads: true, media: true },
    markup: telegramMarkup,
    groups: options.groups,
    quietMs: QUIET_MS,
    connect: (link) => connect(options, link),
    send,
    edit,
    draft: ({ api }, part, signal) => drafts.show(api, part, signal),
    typing: async ({ api }, chat, signal) => {
      await api.raw.sendChatAction({ chat_id: chat.chatId, action: 'typing', ...threadOf(chat) }, forGrammy(signal));
    },
    react: ({ api }, target, change, signal) => react(api, target, change, forGrammy(signal)),
    stateReactions: telegramReactions,
    album: telegramAlbum,
    download: async ({ api, transport }, source, { maxBytes, signal }) => {
      const { apiRoot, token } = options;
      const { file_path: path } = await api.raw.getFile({ file_id: source }, forGrammy(signal));
      if (path === undefined) throw new SendError('permanent', 'Telegram has no path for this file');
      const address = `${apiRoot ?? 'https://api.telegram.org'}/file/bot${token}/${path}`;
      return await transport.file(address, { maxBytes: Math.min(maxBytes, LARGEST_DOWNLOAD), signal });
    },
    toSendError,
  };
}

async function send({ api, log }: TelegramConnection, part: OutgoingPart, signal: AbortSignal): Promise<string> {
  if (part.resend !== undefined) await expectAnswer(api, signal);
  const [file, ...more] = part.media;
  // Only a text that is sent again, or one that a plugin put there, stands under a file.
  const caption: Caption = part.text.trim() === '' ? {} : { caption: part.text, parse_mode: 'HTML' };
  const sent = await (file === undefined
    ? sendHtml(
        part.text,
        (text) => api.raw.sendMessage({ ...addressOf(part), ...looksOf(part), ...text }, forGrammy(signal)),
        () => log.warn('telegram: markup refused, sending plain text', { id: part.messageId }),
      )
    : more.length > 0
      ? sendAlbum(api, addressOf(part), { files: part.media, caption }, forGrammy(signal))
      : sendFile(api, { ...addressOf(part), ...caption, ...file }, forGrammy(signal)));
  return idOf(sent);
}

const sentMessage = z.object({ message_id: z.int().positive() });

/** An "ok" without a message, as a proxy may give it, proves nothing. */
function idOf(sent: unknown): string {
  const read = sentMessage.safeParse(sent);
  if (!read.success) throw new SendError('uncertain', 'Telegram answered without the message that it sent');
  return String(read.data.message_id);
}

/** A message that may have arrived is sent once more at most, so not before Telegram itself answers. */
async function expectAnswer(api: TelegramConnection['api'], signal: AbortSignal): Promise<void> {
  try {
    await api.raw.getMe(forGrammy(signal));
  } catch (error) {
    const { failure, message } = toSendError(error);
    throw failure === 'uncertain' ? new SendError('retryable', message) : error;
  }
}

async function edit(
  { api }: TelegramConnection,
  part: OutgoingPart & { readonly platformId: string },
  signal: AbortSignal,
): Promise<void> {
  const message = { chat_id: part.chatId, message_id: Number(part.platformId), ...looksOf(part) };
  try {
    idOf(await sendHtml(part.text, (text) => api.raw.editMessageText({ ...message, ...text }, forGrammy(signal))));
  } catch (error) {
    if (!isUnchanged(error)) throw error;
  }
}

/** Options of new and edited messages: no link previews, and the buttons. */
function looksOf({ buttons }: OutgoingPart): {
  link_preview_options: { is_disabled: true };
  reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] };
} {
  const rows = buttons?.map((row) => row.map(({ id, label }) => ({ text: label, callback_data: id })));
  return {
    link_preview_options: { is_disabled: true },
    ...(rows === undefined ? {} : { reply_markup: { inline_keyboard: rows } }),
  };
}

/** Options of every new message: chat, thread, the message it replies to, and whether it makes a sound. */
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
