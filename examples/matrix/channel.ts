import { readFile } from 'node:fs/promises';
import type { Channel, ChannelKit, Media, OutgoingPart } from 'assistantd';
import type { IRoomEvent } from 'matrix-js-sdk';
import { openApi } from './api.ts';
import { newestOf, type Content } from './read.ts';
import { followRooms } from './sync.ts';

/** Names a part in the content of its event, so that one that arrived is found however late. */
const PART = 'org.assistantd.part';
/** An event holds 64 KiB, text and HTML together. */
const MAX_LENGTH = 6_000;
const TYPES = { image: 'm.image', audio: 'm.audio', video: 'm.video', document: 'm.file' };
const CAN = { edit: true, typing: true, threads: true, media: true };
const CANNOT = { buttons: false, drafts: false, reactions: false };

export function openChannel(name: string, homeserver: string, accessToken: string, kit: ChannelKit): Channel {
  const call = openApi(homeserver, accessToken, kit);
  let account = '';
  let heardAt: number | undefined;
  let changes = Date.now();

  const put = async (chatId: string, transaction: string, body: Content, signal: AbortSignal): Promise<string> => {
    const path = ['rooms', chatId, 'send', 'm.room.message', transaction];
    return (await call<IRoomEvent>('Put', path, signal, { body })).event_id;
  };
  const textOf = ({ text, silent }: OutgoingPart): Content => {
    const pieces = text.split(/(<pre>[^]*?<\/pre>)/u);
    const html = pieces.map((piece) => (piece.startsWith('<pre>') ? piece : piece.replaceAll('\n', '<br>'))).join('');
    const formatted = { format: 'org.matrix.custom.html', formatted_body: html, 'm.mentions': {} };
    return { msgtype: silent === true ? 'm.notice' : 'm.text', body: kit.html.text(text), ...formatted };
  };
  const fileOf = async ({ path, name: given, kind, mediaType }: Media, signal: AbortSignal): Promise<Content> => {
    const filename = given ?? kind;
    const body = await readFile(path).catch((error: unknown) => {
      throw new kit.SendError('permanent', `the file ${filename} cannot be read: ${String(error)}`);
    });
    const options = { prefix: '/_matrix/media/v3', query: { filename }, headers: { 'Content-Type': mediaType }, body };
    const { content_uri: url } = await call<{ content_uri: string }>('Post', ['upload'], signal, options);
    const info = { mimetype: mediaType, size: body.byteLength };
    return { msgtype: TYPES[kind], body: filename, filename, url, info };
  };
  const edit: NonNullable<Channel['edit']> = async (part, signal) => {
    const text = textOf(part);
    const relation = { rel_type: 'm.replace', event_id: part.platformId };
    const content = { ...text, body: `* ${String(text['body'])}`, 'm.new_content': text, 'm.relates_to': relation };
    await put(part.chatId, `c${(changes += 1)}`, content, signal);
  };

  return {
    name,
    kind: 'matrix',
    capabilities: { maxLength: MAX_LENGTH, ...CAN, ...CANNOT },
    // Clients keep what begins with a slash for themselves.
    commandPrefix: '!',
    settlesResends: true,
    start: async (context, started) => {
      const stop = new AbortController();
      const signal = AbortSignal.any([started, stop.signal]);
      const heard = (): number => (heardAt = context.clock.now());
      const who = call<{ user_id: string }>('Get', ['account', 'whoami'], signal).catch((error) => {
        throw new kit.ChannelError(`channels.${name}: ${error.message}`, { retry: error.failure !== 'revoked' });
      });
      ({ user_id: account } = await who);
      const { ended } = await followRooms({ call, kit, name, account, context, signal, heard });
      heard();
      return {
        [Symbol.asyncDispose]: async () => {
          stop.abort();
          await ended;
          heardAt = undefined;
        },
      };
    },
    health: () =>
      heardAt === undefined ? { state: 'stopped' } : { state: 'running', lastInboundAt: heardAt, quietMs: 180_000 },
    render: (markdown) => kit.html.parts(markdown, MAX_LENGTH),
    plain: (text) => kit.html.literal(text, MAX_LENGTH),
    send: async (part, signal) => {
      const [file] = part.media;
      // The homeserver knows a transaction for a while only, so a later attempt looks what is there.
      const [path, query] = [['rooms', part.chatId, 'messages'], { dir: 'b', limit: '100' }];
      const there = part.resend && (await call<{ chunk: IRoomEvent[] }>('Get', path, signal, { query }));
      const found = there?.chunk.find(({ content }) => content[PART] === part.nonce);
      const isStale = found !== undefined && file === undefined && newestOf(found)['body'] !== textOf(part)['body'];
      if (isStale) await edit({ ...part, platformId: found.event_id }, signal);
      if (found !== undefined) return { platformId: found.event_id };
      const content = file === undefined ? textOf(part) : await fileOf(file, signal);
      const body = { ...content, ...relationOf(part), [PART]: part.nonce };
      return { platformId: await put(part.chatId, part.nonce, body, signal) };
    },
    edit,
    typing: async ({ chatId }, signal) => {
      await call('Put', ['rooms', chatId, 'typing', account], signal, { body: { typing: true, timeout: 6_000 } });
    },
    download: async (source, { maxBytes }, signal) => {
      const [, server = '', id = ''] = /^mxc:\/\/(\w[^/]*)\/([\w-]+)$/u.exec(source) ?? [];
      const options = { prefix: '/_matrix/client/v1', rawResponseBody: true };
      const file = await call<Blob>('Get', ['media', 'download', server, id], signal, options);
      if (file.size > maxBytes) throw new kit.SendError('permanent', `the file has ${file.size} bytes`);
      return await file.bytes();
    },
  };
}

function relationOf({ threadId: thread, replyTo }: OutgoingPart): Content {
  if (thread === undefined && replyTo === undefined) return {};
  const place = { rel_type: 'm.thread', event_id: thread, is_falling_back: replyTo === undefined };
  const answer = { 'm.in_reply_to': { event_id: replyTo ?? thread } };
  return { 'm.relates_to': { ...(thread === undefined ? {} : place), ...answer } };
}
