import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { EventDispatcher, WSClient } from '@larksuiteoapi/node-sdk';
import type { Channel, ChannelKit, InboundDraft, OutgoingPart } from 'assistantd';
import { feishuCode, openApi, QUIET, type Json, type Options } from './api.ts';
import { inboundOf, type MessageEvent, type PressEvent } from './inbound.ts';

/** UTF-16 units of Markdown in a card, whose JSON may have 30 KB. */
const LONGEST = 6_000;
/** For an hour Feishu takes one message with the same `uuid`. */
const SETTLED_MS = 55 * 60_000;
const CARD_REFUSED = 230_099;
/** The message that is answered was withdrawn or deleted. */
const GONE = new Set([230_011, 230_110, 231_003]);
const EMOJI: Json = { '👍': 'THUMBSUP', '❤️': 'HEART', '😂': 'LOL', '🎉': 'PARTY', '👀': 'GLANCE' };
const CAN = { edit: true, typing: true, buttons: true, threads: true, media: true, reactions: true, drafts: false };
type Sent = ReturnType<Channel['send']>;

/** A Feishu app: events over its long connection, everything else over HTTP. */
export function feishuChannel(name: string, kit: ChannelKit, options: Options): Channel {
  const { ChannelError, SendError } = kit;
  let api = openApi(options, kit);
  let socket: WSClient | undefined;
  let heardAt = 0;
  /** The newest message of each chat, those that show "typing", and those whose card was refused. */
  const newest = new Map<string, string>();
  const typing = new Set<string>();
  const noCards = new Set<string>();

  const start: Channel['start'] = async (context, signal) => {
    api = openApi(options, kit);
    const about = await api.call('GET', 'bot/v3/info', { signal }).catch((error: Error) => {
      if (!(error instanceof SendError) || error.failure !== 'revoked') throw error;
      throw new ChannelError(`${error.message}; check channels.${name}.appId and appSecret.`, { retry: false });
    });
    const { open_id: me = '' } = about['bot'] as { readonly open_id?: string };
    const inbound = inboundOf({ channel: name, appId: options.appId, me }, { api, kit, context });
    const lanes = new Map<string, Promise<void>>();
    /** Events of a chat one after another. Resolves when they are on disk; what rejects, Feishu brings again. */
    const take = (chatId: string, raw: unknown, read: () => Promise<InboundDraft | null>) => {
      heardAt = context.clock.now();
      const work = async (): Promise<void> => {
        const draft = await read().catch((failure: unknown) => context.write([{ raw, failure }], { signal }));
        if (draft === null || draft === undefined) return;
        await context.accept([draft]);
        const { messageId } = draft.metadata;
        if (typeof messageId === 'string') newest.set(`${chatId} ${draft.threadId}`, messageId);
      };
      lanes.set(chatId, (lanes.get(chatId) ?? Promise.resolve()).then(work, work));
      return lanes.get(chatId);
    };
    const eventDispatcher = new EventDispatcher({ logger: QUIET }).register({
      'im.message.receive_v1': (said: MessageEvent) => take(said.message.chat_id, said, () => inbound.message(said)),
      'card.action.trigger': (press: PressEvent) => take(press.context.open_chat_id, press, () => inbound.press(press)),
      'im.chat.member.bot.added_v1': ({ chat_id: chatId = '' }) => context.wake(chatId),
    });
    const opened = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => opened.reject(signal.reason), { once: true });
    const line = new WSClient({
      ...options,
      logger: QUIET,
      handshakeTimeoutMs: 15_000,
      wsConfig: { pingTimeout: 20 },
      onReady: opened.resolve,
      onError: ({ message }) => {
        const error = new ChannelError(`Feishu refused the connection: ${message}.`, { retry: true });
        opened.reject(error);
        context.fail(error);
      },
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => {
      socket = undefined;
      line.close({ force: true });
    });
    await Promise.all([line.start({ eventDispatcher }), opened.promise]);
    socket = line;
    heardAt = context.clock.now();
    return stack.move();
  };

  /** As an answer or in its thread; simply in the chat where what it answers is gone. */
  const post = async (part: OutgoingPart, type: string, content: Json, signal: AbortSignal): Sent => {
    const { chatId, threadId, replyTo = threadId, nonce } = part;
    const data = { msg_type: type, content: JSON.stringify(content), uuid: nonce };
    const inChat = { params: { receive_id_type: 'chat_id' }, data: { ...data, receive_id: chatId }, signal };
    const asAnswer = { data: { ...data, reply_in_thread: threadId !== undefined }, signal };
    const path = replyTo === undefined ? 'im/v1/messages' : `im/v1/messages/${replyTo}/reply`;
    const sent = await api.call('POST', path, replyTo === undefined ? inChat : asAnswer).catch((error: unknown) => {
      if (replyTo === undefined || !GONE.has(feishuCode(error))) throw error;
      return api.call('POST', 'im/v1/messages', inChat);
    });
    return { platformId: String(sent['message_id']) };
  };
  const words = ({ text }: OutgoingPart): Json => ({ text: kit.plainParts(text, LONGEST).join('\n') });
  /** A card, or its words alone where Feishu refuses the card. */
  const sendCard = async (part: OutgoingPart, signal: AbortSignal, image?: Json): Sent =>
    await post(part, 'interactive', cardOf(part, image), signal).catch(async (error: unknown) => {
      if (feishuCode(error) !== CARD_REFUSED) throw error;
      const sent = await post(part, 'text', words(part), signal);
      noCards.add(sent.platformId);
      return sent;
    });
  const send: Channel['send'] = async (given, signal) => {
    const { onlyTo, resend, media, nonce } = given;
    if (onlyTo !== undefined) throw new SendError('permanent', 'Feishu shows everybody what is sent to a chat');
    const isLate = resend !== undefined && Date.now() - resend.since > SETTLED_MS;
    const part = isLate ? { ...given, text: `↻ ${given.text}` } : given;
    const [file] = media;
    if (file === undefined) return await sendCard(part, signal);
    const { path, kind, name: fileName = kind } = file;
    const bytes = createReadStream(path);
    const image = { image_type: 'message', image: bytes };
    const data = kind === 'image' ? image : { file_type: 'stream', file_name: fileName, file: bytes };
    const upload = { data, headers: { 'Content-Type': 'multipart/form-data' }, signal };
    const keys = await api.call('POST', kind === 'image' ? 'im/v1/images' : 'im/v1/files', upload);
    const alt = { tag: 'plain_text', content: fileName };
    if (kind === 'image') return await sendCard(part, signal, { tag: 'img', img_key: keys['image_key'], alt });
    if (part.text !== '') await sendCard(part, signal);
    return await post({ ...part, nonce: `${nonce}:file` }, 'file', { file_key: keys['file_key'] }, signal);
  };
  const react = async (id: string, emoji: unknown): Promise<unknown> => {
    const data = { reaction_type: { emoji_type: emoji } };
    return (await api.call('POST', `im/v1/messages/${id}/reactions`, { data }))['reaction_id'];
  };

  return {
    name,
    kind: 'feishu',
    settlesResends: true,
    capabilities: { maxLength: LONGEST, ...CAN },
    start,
    send,
    render: (markdown) => kit.markdownParts(markdown, LONGEST),
    plain: (text) => kit.literalParts(text, LONGEST),
    edit: async (part, signal) => {
      const isCard = !noCards.has(part.platformId);
      const content = JSON.stringify(isCard ? cardOf(part) : words(part));
      const data = isCard ? { content } : { msg_type: 'text', content };
      await api.call(isCard ? 'PATCH' : 'PUT', `im/v1/messages/${part.platformId}`, { data, signal });
    },
    react: async ({ platformId }, { add }) => {
      if (add !== undefined) await react(platformId, EMOJI[add] ?? 'OK');
    },
    /** A reaction on the newest message until the turn is over. */
    typing: async ({ chatId, threadId }, signal) => {
      const id = newest.get(`${chatId} ${threadId}`);
      if (id === undefined || typing.has(id)) return;
      typing.add(id);
      const shown = react(id, 'Typing');
      const end = (): void => {
        const gone = shown.then((reaction) => api.call('DELETE', `im/v1/messages/${id}/reactions/${String(reaction)}`));
        void gone.catch(() => {}).then(() => typing.delete(id));
      };
      signal.addEventListener('abort', end, { once: true });
      await shown;
    },
    download: async (source, { maxBytes }) => {
      const [message_id = '', file_key = '', type = '', fileName] = JSON.parse(source) as readonly string[];
      return await api.run(async ({ im }) => {
        const file = await im.v1.messageResource.get({ path: { message_id, file_key }, params: { type } });
        const size = Number(file.headers['content-length'] ?? 0);
        if (size <= maxBytes) return await buffer(file.getReadableStream());
        file.getReadableStream().destroy();
        throw new SendError('permanent', `${fileName} has ${Math.ceil(size / 1024 ** 2)} MB, which is too large`);
      });
    },
    health: () => {
      const line = socket?.getConnectionStatus().state ?? 'stopped';
      const state = line === 'connected' ? 'running' : line === 'stopped' ? line : 'reconnecting';
      return { state, lastInboundAt: heardAt };
    },
  };
}

/** A card with an image, Markdown and buttons, as far as there are any. */
function cardOf({ text, buttons = [], threadId }: OutgoingPart, image?: Json): Json {
  const shown = buttons.flat().map(({ id, label }) => ({
    tag: 'button',
    text: { tag: 'plain_text', content: label },
    behaviors: [{ type: 'callback', value: { id, threadId } }],
  }));
  // What is still a tag stands in code.
  const markdown = { tag: 'markdown', content: text.replaceAll(/<(?=\/?at\b)/giu, '<\u200b') };
  const elements = [...(image === undefined ? [] : [image]), ...(text === '' ? [] : [markdown]), ...shown];
  return { schema: '2.0', body: { elements } };
}
