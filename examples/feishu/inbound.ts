import type { EventDispatcher } from '@larksuiteoapi/node-sdk';
import type { ChannelContext, ChannelKit, InboundDraft, Media, Speaker } from 'assistantd';
import type { FeishuApi, Json } from './api.ts';

type Handlers = Parameters<EventDispatcher['register']>[0];
export type MessageEvent = Parameters<NonNullable<Handlers['im.message.receive_v1']>>[0];
type Message = Pick<MessageEvent['message'], 'message_id' | 'message_type' | 'content' | 'mentions'>;
type Fetched = Pick<Message, 'message_id' | 'mentions'> & {
  readonly msg_type: string;
  readonly create_time: string;
  readonly body: { readonly content: string };
  readonly sender: { readonly id: string; readonly sender_name?: string };
};

export interface PressEvent {
  readonly event_id: string;
  readonly operator: { readonly open_id: string };
  readonly action: { readonly value?: { readonly id?: string; readonly threadId?: string } };
  readonly context: { readonly open_chat_id: string };
}

/** Kind, media type and name of the key of what is a file. */
const FILES: Readonly<Record<string, readonly [Media['kind'], string, string]>> = {
  image: ['image', 'image/png', 'image_key'],
  file: ['document', 'application/octet-stream', 'file_key'],
  media: ['video', 'video/mp4', 'file_key'],
  audio: ['audio', 'audio/ogg', 'file_key'],
};
const USUAL = { text: '', media: [], mentioned: true, untrusted: false, origin: 'user', metadata: {} } as const;

/** Makes messages for the assistant of what people do. Null: it is not for the assistant. `me` is the bot's `open_id`. */
export function inboundOf(
  { channel, appId, me }: Readonly<Record<'channel' | 'appId' | 'me', string>>,
  { api, kit, context }: { readonly api: FeishuApi; readonly kit: ChannelKit; readonly context: ChannelContext },
) {
  const names = new Map<string, string>();
  const chatTypes = new Map<string, Speaker['chatType']>();
  /** A message, behind it those that were forwarded in it; none where Feishu does not give it. */
  const fetched = async (id: string): Promise<readonly Fetched[]> => {
    const params = { user_id_type: 'open_id', with_sender_name: true, card_msg_content_type: 'user_card_content' };
    const found = await api.call('GET', `im/v1/messages/${id}`, { params }).catch((): Json => ({}));
    return (found['items'] as readonly Fetched[] | undefined) ?? [];
  };
  const quoted = (id: string, parent: Fetched | undefined, senderId: string): InboundDraft['replyTo'] & object => {
    if (parent === undefined) return { externalId: `m:${id}` };
    const { id: by, sender_name: senderName = by } = parent.sender;
    const [text = ''] = kit.plainParts(wordsOf(parent), 1_000);
    const author = by === appId ? 'assistant' : by === senderId ? 'sender' : 'other';
    return { externalId: `m:${id}`, senderName, text, author, sentAt: Number(parent.create_time) };
  };
  /** `read` is called only if the person may speak. */
  const hear = async (speaker: Speaker, externalId: string, read: () => Promise<Partial<InboundDraft>>) => {
    const { senderId, chatId, chatType } = speaker;
    const role = kit.roleOf(speaker, context.pairedRole);
    if (role === 'nobody') return null;
    const name = names.get(senderId) ?? (await fetched(externalId.slice(2)))[0]?.sender.sender_name;
    if (name !== undefined) names.set(senderId, name);
    const place = { channel, account: me, chatId, chatType, externalId, receivedAt: context.clock.now() };
    if (role === 'stranger') {
      context.passOver({ ...place, reason: 'its sender is not among the people of this channel' });
      if (chatType === 'direct') await context.requestPairing({ senderId, name, chatId });
      return null;
    }
    const sender = { id: senderId, isBot: false, ...(name === undefined ? {} : { name }) };
    return kit.groupMessage({ ...USUAL, ...place, sender, role, context: [], ...(await read()) }, context);
  };
  const message = async ({ sender, message }: MessageEvent) => {
    const { message_id: id, parent_id: parentId, thread_id: thread, message_type: type, chat_id: chatId } = message;
    const chatType = message.chat_type === 'p2p' ? 'direct' : 'group';
    chatTypes.set(chatId, chatType);
    const { sender_id: { open_id: senderId = '' } = {}, sender_type: by } = sender;
    const speaker = { senderId, chatId, chatType, isSelf: senderId === me, isBot: by !== 'user' } as const;
    return await hear(speaker, `m:${id}`, async () => {
      const [parent] = parentId === undefined ? [] : await fetched(parentId);
      const isMeant = parent?.sender.id === appId || message.mentions?.some((one) => one.id.open_id === me) === true;
      const untrusted = type === 'merge_forward';
      const forwarded = untrusted ? (await fetched(id)).slice(1).map(wordsOf).join('\n') : undefined;
      // Whoever sends a file says something about it in another message.
      const burst = untrusted ? 'forward' : /^(?:file|image|media)$/u.test(type) ? 'album' : undefined;
      const threadId = thread === undefined ? undefined : (message.root_id ?? id);
      const isReply = parentId !== undefined && parentId !== threadId;
      return {
        ...(forwarded === undefined ? contentOf(message, me) : { text: forwarded || '[forwarded messages]' }),
        ...(threadId === undefined ? {} : { threadId }),
        ...(isReply ? { replyTo: quoted(parentId, parent, senderId) } : {}),
        mentioned: chatType === 'direct' || isMeant,
        untrusted,
        metadata: { messageId: id, sentAt: Number(message.create_time), ...(burst === undefined ? {} : { burst }) },
      };
    });
  };
  const press = async ({ event_id: id, operator, action, context: { open_chat_id: chatId } }: PressEvent) => {
    const { id: button, threadId } = action.value ?? {};
    if (button === undefined) return null;
    const asked = async (): Promise<Json> => await api.call('GET', `im/v1/chats/${chatId}`).catch(() => ({}));
    // Where it cannot be found out it is a group, which is shown less.
    const chatType = chatTypes.get(chatId) ?? ((await asked())['chat_mode'] === 'p2p' ? 'direct' : 'group');
    const speaker = { senderId: operator.open_id, chatId, chatType, isSelf: false, isBot: false };
    const said = { text: kit.textOfPress(button), action: { id: button, value: button } };
    return await hear(speaker, `b:${id}`, async () => ({ ...said, ...(threadId === undefined ? {} : { threadId }) }));
  };
  return { message, press };
}

const wordsOf = ({ message_id, msg_type: message_type, body: { content }, mentions = [] }: Fetched): string =>
  contentOf({ message_id, message_type, content, mentions }, '').text;
/** What a message says, without the mention of `me`, and its files; their `source` is for `download`. */
function contentOf({ message_id: id, message_type: type, content, mentions = [] }: Message, me: string) {
  const body = JSON.parse(content) as Json;
  const media: Media[] = [];
  const read = (tag: string, one: Json): string => {
    const [kind, mediaType, key] = FILES[tag] ?? [];
    if (kind === undefined || mediaType === undefined || key === undefined) return textOf(tag, one);
    const name = typeof one['file_name'] === 'string' ? { name: one['file_name'] } : {};
    const source = JSON.stringify([id, one[key], kind === 'image' ? 'image' : 'file', name.name ?? kind]);
    media.push({ kind, mediaType, path: '', source, ...name, ...(kind === 'audio' ? { speech: true } : {}) });
    return '';
  };
  const lines = type === 'post' ? (body['content'] as readonly (readonly Json[])[]) : [];
  const said = lines.map((line) => line.map((one) => read(String(one['tag']).replace('img', 'image'), one)).join(''));
  let text = type === 'post' ? [body['title'], ...said].filter(Boolean).join('\n') : read(type, body);
  for (const { key, name, id } of mentions) text = text.replaceAll(key, id.open_id === me ? '' : `@${name}`);
  return { text: text.trim(), media };
}

function textOf(tag: string, one: Json): string {
  if (tag === 'location') return `[location: ${String(one['latitude'])}, ${String(one['longitude'])}]`;
  if (tag === 'at') return String(one['user_id']);
  if (tag === 'a') return `${String(one['text'])} (${String(one['href'])})`;
  return textsIn(one).join('\n') || `[${tag}]`;
}

const textsIn = (value: unknown): readonly string[] =>
  Object.entries(typeof value === 'object' ? (value ?? {}) : {}).flatMap(([key, inner]: [string, unknown]) =>
    typeof inner === 'string' && /^(?:text|content)$/u.test(key) ? [inner] : textsIn(inner),
  );
