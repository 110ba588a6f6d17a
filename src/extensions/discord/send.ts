import { readFile } from 'node:fs/promises';
import { albumsOf, type OutgoingPart, type Resend, SendError, type Media } from '../../core/api-channels.ts';
import { cut, errorMessage } from '../../core/api.ts';
import type { RequestBody, DiscordApi, SentMessage, UploadFile } from './api.ts';
import { isRefused } from './errors.ts';
import { payloads } from './payload.ts';
import { timeOf } from './snowflake.ts';

/** Cap of all files of a message together, in bytes. */
const LARGEST_UPLOAD = 25 * 1024 * 1024;
const MOST_FILES = 10;
const SUPPRESS_EMBEDS = 1 << 2;
const SUPPRESS_NOTIFICATIONS = 1 << 12;
const ROW = 1;
const BUTTON = 2;
const GREY = 2;
const MOST_ROWS = 5;
const MOST_IN_ROW = 5;
const LONGEST_LABEL = 80;
const LONGEST_CUSTOM_ID = 100;
/** Discord remembers the nonce of a message for a few minutes; only for this time we rely on that. */
const NONCE_HOLDS_MS = 60_000;
/** Allowed difference between Discord's clock and ours. */
const SKEW_MS = 10_000;
const LOOK_BACK = '50';

/** Id of the channel or thread that a part is sent to. */
export function placeOf({ chatId, threadId }: Pick<OutgoingPart, 'chatId' | 'threadId'>): string {
  return threadId ?? chatId;
}

/** The body of a new or edited message. It pings no one, shows no link previews, and replaces all buttons. */
export function bodyOf({ text, buttons = [], silent }: Pick<OutgoingPart, 'text' | 'buttons' | 'silent'>): RequestBody {
  return {
    content: text,
    allowed_mentions: { parse: [], replied_user: false },
    flags: SUPPRESS_EMBEDS | (silent === true ? SUPPRESS_NOTIFICATIONS : 0),
    components: rowsOf(buttons),
  };
}

/**
 * Sends a part. A part that an earlier attempt may have sent does not appear twice: while Discord remembers its nonce, it
 * returns the first copy; after that the chat's history is searched. A copy with other text is edited. Throws what the API
 * throws, and a `SendError` for files (`filesOf`).
 */
export async function sendPart(
  api: DiscordApi,
  part: OutgoingPart,
  { me, now, signal }: { readonly me: string; readonly now: number; readonly signal: AbortSignal },
): Promise<SentMessage> {
  const place = placeOf(part);
  const files = await filesOf(part.media);
  const { resend: again } = part;
  const isOld = again !== undefined && now - again.since > NONCE_HOLDS_MS;
  const found = isOld ? await findSent(api, part, { me, again, signal }) : undefined;
  const sent =
    found ?? (await api.send(place, { ...newBody(part), nonce: part.nonce, enforce_nonce: true }, files, signal));
  const isStale = again !== undefined && sent.content !== undefined && sent.content.trim() !== part.text.trim();
  if (isStale) await api.edit(place, sent.id, bodyOf(part), signal);
  return sent;
}

function newBody(part: OutgoingPart): RequestBody {
  const { replyTo } = part;
  return {
    ...bodyOf(part),
    ...(replyTo === undefined ? {} : { message_reference: { message_id: replyTo, fail_if_not_exists: false } }),
  };
}

/** Searches the newest 50 messages of the chat for the copy that an earlier attempt sent. */
async function findSent(
  api: DiscordApi,
  part: OutgoingPart,
  { me, again, signal }: { readonly me: string; readonly again: Resend; readonly signal: AbortSignal },
): Promise<SentMessage | undefined> {
  const messages = await api.history(placeOf(part), { limit: LOOK_BACK }, signal).catch((error: unknown) => {
    // The bot may lack the right to read the history and still have the right to write.
    if (isRefused(error)) return [];
    throw error;
  });
  for (const raw of messages) {
    const message = payloads.message.safeParse(raw);
    if (!message.success || message.data.author.id !== me) continue;
    const { id, nonce, content, attachments = [] } = message.data;
    if (nonce !== undefined && String(nonce) === part.nonce) return { id, content };
    const isSame = content.trim() === part.text.trim() && attachments.length === part.media.length;
    if (nonce === undefined && isSame && timeOf(id) >= again.since - SKEW_MS && !again.isKnown(id))
      return { id, content };
  }
  return undefined;
}

/** What goes as one message. */
export function discordAlbum(files: readonly Media[]): readonly (readonly Media[])[] {
  return albumsOf(files, { most: MOST_FILES, mostBytes: LARGEST_UPLOAD });
}

/** Reads the files of a message. Throws a permanent `SendError` for too many, too large or unreadable files. */
export async function filesOf(media: readonly Media[]): Promise<readonly UploadFile[]> {
  if (media.length > MOST_FILES) throw new SendError('permanent', `a message holds at most ${MOST_FILES} files`);
  const files = await Promise.all(
    media.map(async ({ path, name, kind, mediaType }) => {
      const data = await readFile(path).catch((error: unknown) => {
        throw new SendError('permanent', `the file ${name ?? kind} cannot be read: ${errorMessage(error)}`);
      });
      return { name: name ?? kind, data, contentType: mediaType };
    }),
  );
  const size = files.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (size <= LARGEST_UPLOAD) return files;
  const names = files.map(({ name }) => name).join(', ');
  throw new SendError('permanent', `${names}: more than the 25 MB that a message may hold`);
}

/** Buttons in at most 5 rows of 5. Of buttons with the same id only the first stays, because Discord refuses doubles. */
function rowsOf(buttons: NonNullable<OutgoingPart['buttons']>): readonly RequestBody[] {
  const ids = new Set<string>();
  const rows = buttons.flatMap((row) => {
    const fresh = row.filter(({ id }) => !ids.has(id) && ids.add(id));
    return Array.from({ length: Math.ceil(fresh.length / MOST_IN_ROW) }, (_, n) =>
      fresh.slice(n * MOST_IN_ROW, (n + 1) * MOST_IN_ROW),
    );
  });
  return rows.slice(0, MOST_ROWS).map((row) => ({
    type: ROW,
    components: row.map(({ id, label }) => ({
      type: BUTTON,
      style: GREY,
      label: cut(label, LONGEST_LABEL),
      custom_id: id.slice(0, LONGEST_CUSTOM_ID),
    })),
  }));
}
