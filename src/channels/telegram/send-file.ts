import { readFile } from 'node:fs/promises';
import { GrammyError, InputFile, type Api } from 'grammy/web';
import type { Media } from '../../bus/messages.ts';
import { errorMessage } from '../../util/errors.ts';
import { SendError } from '../channel.ts';
import type { GrammySignal } from './transport.ts';

/** What the Bot API takes of a file, bytes. */
const LARGEST_UPLOAD = 50 * 1024 * 1024;
/** Pictures beyond this go as files. */
const LARGEST_PHOTO = 10 * 1024 * 1024;

export interface SendAddress {
  readonly chat_id: string;
  readonly message_thread_id?: number;
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: boolean };
  readonly disable_notification?: boolean;
}

/** Sends one file in the way Telegram shows it best: a picture, a voice message, sound, a film, or a document. */
export async function sendFile(
  api: Api,
  { kind, mediaType, path, name = kind, ...address }: SendAddress & Media,
  signal: GrammySignal,
): Promise<{ message_id: number }> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new SendError('permanent', `the file ${name} cannot be read: ${errorMessage(error)}`);
  });
  if (bytes.byteLength > LARGEST_UPLOAD)
    throw new SendError('permanent', `${name} has more than the 50 MB that bots may send`);
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
