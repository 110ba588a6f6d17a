import { BotApiError, chatIdOf, type Chats } from './telegram-chats.ts';
import { isRecord } from './validate.ts';

type Payload = Readonly<Record<string, unknown>>;

export interface StoredFile {
  readonly content: Uint8Array;
  readonly path: string;
}

interface MethodState {
  /** Whether this server knows of drafts. */
  readonly drafts: boolean;
  readonly chats: Chats;
  readonly files: ReadonlyMap<string, StoredFile>;
  /** Ids of pressed buttons that wait for their answer. */
  readonly queries: Set<string>;
}

/** Every method but getUpdates: what the server answers, or a thrown `BotApiError`. */
export function botMethods({
  drafts,
  chats,
  files,
  queries,
}: MethodState): Readonly<Record<string, (payload: Payload) => unknown>> {
  return {
    getMe: () => ({
      ...chats.bot,
      can_join_groups: true,
      can_read_all_group_messages: false,
      supports_inline_queries: false,
    }),
    sendMessage: (payload) => chats.send(payload),
    ...Object.fromEntries(
      ['photo', 'document', 'voice', 'audio', 'video'].map((kind) => [
        `send${kind[0]?.toUpperCase()}${kind.slice(1)}`,
        (payload: Payload) => chats.send(payload, uploaded(payload, kind)),
      ]),
    ),
    sendMediaGroup: (payload) => {
      const media: readonly unknown[] = Array.isArray(payload['media']) ? payload['media'] : [];
      const kinds = media.filter(isRecord).map(({ type }) => String(type));
      const mixes = new Set(kinds.map((kind) => (kind === 'photo' || kind === 'video' ? 'seen' : kind)));
      if (media.length < 2 || media.length > 10) throw new BotApiError(400, 'Bad Request: wrong number of messages');
      if (mixes.size > 1) throw new BotApiError(400, 'Bad Request: these files cannot be in one album');
      return media.filter(isRecord).map((one, n) => {
        const file = uploaded({ ...payload, ...one, [kinds[n] ?? '']: one['media'] }, kinds[n] ?? '');
        return chats.send({ ...payload, caption: one['caption'] }, file);
      });
    },
    ...(drafts ? { sendMessageDraft: (payload: Payload) => chats.draft(payload) } : {}),
    editMessageText: (payload) => chats.edit(payload),
    setMessageReaction: (payload) => chats.react(payload),
    sendChatAction: (payload) => {
      chatIdOf(payload);
      if (typeof payload['action'] !== 'string') throw new BotApiError(400, 'Bad Request: wrong parameter action');
      return true;
    },
    setMyCommands: (payload) => checkCommands(payload['commands']),
    deleteWebhook: () => true,
    getWebhookInfo: () => ({ url: '', has_custom_certificate: false, pending_update_count: 0 }),
    getChat: (payload) => ({ accent_color_id: 0, max_reaction_count: 11, ...chats.open(chatIdOf(payload), {}) }),
    answerCallbackQuery: (payload) => {
      if (queries.delete(String(payload['callback_query_id']))) return true;
      throw new BotApiError(400, 'Bad Request: query is too old and response timeout expired or query ID is invalid');
    },
    getFile: (payload) => {
      const id = String(payload['file_id']);
      const file = files.get(id);
      if (file === undefined) throw new BotApiError(400, 'Bad Request: invalid file_id');
      return { file_id: id, file_unique_id: `u${id}`, file_size: file.content.byteLength, file_path: file.path };
    },
  };
}

/** A file of a form is named by `attach://` and the name of its field. */
function uploaded(payload: Payload, kind: string): { kind: string; name: string; bytes: Uint8Array } {
  const named = /^attach:\/\/(.+)$/u.exec(String(payload[kind]))?.[1] ?? kind;
  const file = payload[named];
  if (!isRecord(file) || typeof file['name'] !== 'string' || !(file['bytes'] instanceof Uint8Array)) {
    throw new BotApiError(400, `Bad Request: there is no ${kind} in the request`);
  }
  return { kind, name: file['name'], bytes: file['bytes'] };
}

function checkCommands(commands: unknown): true {
  const holds =
    Array.isArray(commands) &&
    commands.length <= 100 &&
    commands.every(
      (one: unknown) =>
        isRecord(one) &&
        /^[a-z0-9_]{1,32}$/u.test(String(one['command'])) &&
        /^.{1,256}$/su.test(String(one['description'])),
    );
  if (!holds) throw new BotApiError(400, 'Bad Request: BOT_COMMAND_INVALID');
  return true;
}
