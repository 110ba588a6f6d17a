import { readFile } from 'node:fs/promises';
import { GrammyError, InputFile, type Api } from 'grammy/web';
import { albumsOf, type Media, SendError } from '../../core/api-channels.ts';
import { errorMessage } from '../../core/api.ts';
import type { GrammySignal } from './transport.ts';

/** What the Bot API takes of a file, bytes. */
const LARGEST_UPLOAD = 50 * 1024 * 1024;
/** Pictures beyond this go as files. */
const LARGEST_PHOTO = 10 * 1024 * 1024;

type InputMediaPhoto = Extract<Parameters<Api['raw']['sendMediaGroup']>[0]['media'][number], { type: 'photo' }>;

export interface SendAddress {
  readonly chat_id: string;
  readonly message_thread_id?: number;
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: boolean };
  readonly disable_notification?: boolean;
}

/** Telegram shows pictures and films together, sounds together, and documents together; a voice message stands alone. */
export function telegramAlbum(files: readonly Media[]): readonly (readonly Media[])[] {
  return albumsOf(files, { most: 10, mostBytes: LARGEST_UPLOAD, kindOf: albumKind });
}

function albumKind(file: Media): string | null {
  const { kind, mediaType, size = 0, speech } = file;
  if (mediaType === 'audio/ogg' || speech === true) return null;
  return kind === 'video' || (kind === 'image' && size <= LARGEST_PHOTO) ? 'seen' : kind === 'audio' ? 'heard' : 'read';
}

/** Sends several files as one album; `telegramAlbum` says which go together. Resolves with its first message. */
export async function sendAlbum(
  api: Api,
  address: SendAddress,
  { files, caption }: { readonly files: readonly Media[]; readonly caption: Caption },
  signal: GrammySignal,
): Promise<{ message_id: number } | undefined> {
  const media = await Promise.all(
    files.map(async (file, n) => {
      const { kind, path, name = kind } = file;
      const content = new InputFile(await bytesOf(path, name), name);
      const said = n === 0 ? caption : {};
      const isRead = albumKind(file) === 'read';
      if (isRead || kind === 'document') return { type: 'document', media: content, ...said } as const;
      return { type: kind === 'image' ? 'photo' : kind, media: content, ...said } as const;
    }),
  );
  // The types of the four kinds are those that `albumKind` lets go together.
  const sent = await api.raw.sendMediaGroup({ ...address, media: media as InputMediaPhoto[] }, signal);
  return sent[0];
}

/** A text under a file. */
export type Caption = { readonly caption?: string; readonly parse_mode?: 'HTML' };

/** Sends one file in the way Telegram shows it best: a picture, a voice message, sound, a film, or a document. */
export async function sendFile(
  api: Api,
  { kind, mediaType, path, name = kind, ...address }: SendAddress & Media & Caption,
  signal: GrammySignal,
): Promise<{ message_id: number }> {
  const bytes = await bytesOf(path, name);
  const file = new InputFile(bytes, name);
  const { size: _, source: __, speech = false, ...where } = address;
  if (kind === 'image' && bytes.byteLength <= LARGEST_PHOTO)
    return await api.raw.sendPhoto({ ...where, photo: file }, signal);
  if (mediaType === 'audio/ogg' || (speech && mediaType === 'audio/mpeg')) {
    try {
      return await api.raw.sendVoice({ ...where, voice: file }, signal);
    } catch (error) {
      if (!isVoiceForbidden(error)) throw error;
      return await api.raw.sendDocument({ ...where, document: new InputFile(bytes, name) }, signal);
    }
  }
  if (kind === 'audio') return await api.raw.sendAudio({ ...where, audio: file }, signal);
  if (kind === 'video') return await api.raw.sendVideo({ ...where, video: file }, signal);
  return await api.raw.sendDocument({ ...where, document: file }, signal);
}

/** Whether the person lets nobody send them voice messages. */
function isVoiceForbidden(error: unknown): boolean {
  return error instanceof GrammyError && error.description.includes('VOICE_MESSAGES_FORBIDDEN');
}

async function bytesOf(path: string, name: string): Promise<Buffer> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new SendError('permanent', `the file ${name} cannot be read: ${errorMessage(error)}`);
  });
  if (bytes.byteLength > LARGEST_UPLOAD)
    throw new SendError('permanent', `${name} has more than the 50 MB that bots may send`);
  return bytes;
}
