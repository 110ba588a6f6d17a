import { isRecord } from './validate.ts';
import { describe, SlackError, type SlackWorkspace, type StoredFile } from './slack-workspace.ts';

type Content = Readonly<Record<string, unknown>>;
type Method = (payload: Content) => Content;

export interface MethodPorts {
  readonly workspace: SlackWorkspace;
  readonly url: () => string;
  readonly socketUrl: () => string;
  /** Bytes that were uploaded and wait to be shown somewhere. */
  readonly uploads: Map<string, { name: string; bytes: Uint8Array }>;
  readonly homes: Map<string, unknown>;
}

/** The Web API, as far as bots use it. A method throws a `SlackError` to refuse. */
export function slackMethods(ports: MethodPorts): Readonly<Record<string, Method>> {
  const { workspace, uploads, homes } = ports;
  const { bot } = workspace;
  const placed = (payload: Content, onlyFor?: string): Content => {
    const { chatId, ts } = workspace.send(payload, onlyFor);
    return { channel: chatId, ts, message_ts: ts };
  };
  return {
    'auth.test': () => ({
      user_id: bot.userId,
      bot_id: bot.botId,
      team_id: 'T0TEST',
      user: bot.name,
      url: ports.url(),
    }),
    'apps.connections.open': () => ({ url: ports.socketUrl() }),
    'chat.postMessage': (payload) => placed(payload),
    'chat.postEphemeral': (payload) => {
      if (typeof payload['user'] !== 'string') throw new SlackError('user_not_in_channel');
      return placed(payload, payload['user']);
    },
    'chat.update': (payload) => {
      const { chatId, ts, text } = workspace.update(payload);
      return { channel: chatId, ts, text };
    },
    'conversations.history': (payload) => {
      const chatId = String(payload['channel']);
      if (workspace.foreign.has(chatId)) throw new SlackError('not_in_channel');
      const posts = workspace.posts.filter((post) => post.chatId === chatId && post.threadId === undefined);
      return page(workspace, payload, posts.filter(isShown).toReversed());
    },
    'conversations.replies': (payload) => {
      const { channel: chatId, ts } = payload;
      const posts = workspace.posts.filter(
        (post) => post.chatId === chatId && (post.threadId === ts || post.ts === ts) && isShown(post),
      );
      if (posts.length === 0) throw new SlackError('thread_not_found');
      return page(workspace, payload, posts);
    },
    'users.conversations': () => ({
      channels: workspace.conversations.map((id) => ({ id, is_im: id.startsWith('D') })),
      response_metadata: { next_cursor: '' },
    }),
    'users.info': (payload) => {
      const person = workspace.personNamed(String(payload['user']));
      if (person === undefined) throw new SlackError('user_not_found');
      return { user: { id: payload['user'], name: person.name.toLowerCase(), profile: { display_name: person.name } } };
    },
    'files.info': (payload) => {
      const file = workspace.files.get(String(payload['file']));
      if (file === undefined) throw new SlackError('file_not_found');
      const address = `${ports.url()}/files/${file.id}`;
      return { file: { ...describe(file), url_private: address, url_private_download: address, ...file.extra } };
    },
    'files.getUploadURLExternal': (payload) => {
      const id = workspace.newId('F');
      uploads.set(id, { name: String(payload['filename']), bytes: new Uint8Array() });
      return { upload_url: `${ports.url()}/upload/${id}`, file_id: id };
    },
    'files.completeUploadExternal': (payload) => {
      const given: readonly unknown[] = Array.isArray(payload['files']) ? payload['files'] : [];
      const files = given.filter(isRecord).map(({ id }): StoredFile => {
        const upload = uploads.get(String(id));
        if (upload === undefined) throw new SlackError('file_not_found');
        const { name, bytes } = upload;
        return { id: String(id), name, mimetype: 'application/octet-stream', size: bytes.length, bytes, extra: {} };
      });
      const { channel_id: channel, thread_ts: threadId, initial_comment: text = '' } = payload;
      workspace.add({
        chatId: String(channel),
        threadId: typeof threadId === 'string' ? threadId : undefined,
        user: bot.userId,
        isBots: true,
        text: String(text),
        raw: String(text),
        buttons: [],
        metadata: undefined,
        files,
        payload,
      });
      return { files: files.map((file) => describe(file)) };
    },
    'reactions.add': (payload) => {
      const { marks, name } = reacted(workspace, payload);
      if (marks.has(name)) throw new SlackError('already_reacted');
      marks.add(name);
      return {};
    },
    'reactions.remove': (payload) => {
      const { marks, name } = reacted(workspace, payload);
      if (!marks.delete(name)) throw new SlackError('no_reaction');
      return {};
    },
    'views.publish': (payload) => {
      homes.set(String(payload['user_id']), payload['view']);
      return {};
    },
  };
}

function reacted(workspace: SlackWorkspace, payload: Content): { readonly marks: Set<string>; readonly name: string } {
  const post = workspace.find(String(payload['channel']), String(payload['timestamp']));
  if (post === undefined) throw new SlackError('message_not_found');
  const name = String(payload['name']);
  if (!/^[a-z0-9_+-]+$/u.test(name)) throw new SlackError('invalid_name');
  return { marks: post.marks, name };
}

function isShown({ onlyFor, gone }: { readonly onlyFor?: string; readonly gone?: boolean }): boolean {
  return onlyFor === undefined && gone !== true;
}

function page(workspace: SlackWorkspace, payload: Content, all: SlackWorkspace['posts']): Content {
  const oldest = Number(payload['oldest'] ?? 0);
  const latest = Number(payload['latest'] ?? Infinity);
  const parent = payload['ts'];
  const posts = all.filter(({ ts }) => ts === parent || (Number(ts) > oldest && Number(ts) < latest));
  const start = Number(payload['cursor'] ?? 0);
  const end = start + Number(payload['limit'] ?? 100);
  const withMetadata = String(payload['include_all_metadata']) === 'true';
  return {
    messages: posts.slice(start, end).map((post) => workspace.asMessage(post, withMetadata)),
    has_more: end < posts.length,
    response_metadata: { next_cursor: end < posts.length ? String(end) : '' },
  };
}
