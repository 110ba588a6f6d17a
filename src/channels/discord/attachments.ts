import type { Media } from '../../bus/messages.ts';
import { cut } from '../../util/text.ts';
import { isPicture } from '../inbound/attachments.ts';
import type { DiscordContent } from './payload.ts';

/** What is fetched of a file, bytes. */
export const LARGEST_DOWNLOAD = 25 * 1024 * 1024;
const LONGEST_NAME = 200;

/** What came with a message beside its text. */
interface DiscordAttachments {
  readonly media: readonly Media[];
  /** What is no file, or no file that can be had, in words. */
  readonly words: readonly string[];
}

/** Reads files, speech, stickers and polls. */
export function attachmentsOf(message: DiscordContent): DiscordAttachments {
  const files = filesOf(message);
  const large = files.filter(({ size = 0 }) => size > LARGEST_DOWNLOAD);
  return {
    media: files.filter((file) => !large.includes(file)),
    words: [...large.map(tooLarge), ...wordsOf(message)],
  };
}

/** The same in a few words, for a message that is only quoted. */
export function namedAttachments(message: DiscordContent): readonly string[] {
  return [...filesOf(message).map(({ kind, name = '' }) => `[${kind} ${name}]`), ...wordsOf(message)];
}

function filesOf({ attachments = [] }: DiscordContent): readonly Media[] {
  return attachments.map(({ filename, size, url, content_type: type }) => {
    const mediaType = (type ?? '').split(';')[0]?.trim() || 'application/octet-stream';
    return {
      kind: kindOf(mediaType),
      mediaType,
      path: '',
      source: url,
      ...(mediaType.startsWith('audio/') ? { speech: true } : {}),
      ...(filename === '' ? {} : { name: cut(filename, LONGEST_NAME) }),
      ...(size === undefined ? {} : { size }),
    };
  });
}

function kindOf(mediaType: string): Media['kind'] {
  if (isPicture(mediaType)) return 'image';
  if (mediaType.startsWith('audio/')) return 'audio';
  return mediaType.startsWith('video/') ? 'video' : 'document';
}

function tooLarge({ kind, name, size = 0 }: Media): string {
  const what = name === undefined ? kind : `${kind} ${JSON.stringify(name)}`;
  return `[${what} has ${Math.ceil(size / 1024 ** 2)} MB; files are fetched up to 25 MB]`;
}

function wordsOf({ sticker_items: stickers = [], poll }: DiscordContent): readonly string[] {
  return [
    ...stickers.map(({ name }) => `[sticker ${cut(name, 60)}]`),
    ...(poll === undefined
      ? []
      : [
          `[poll: ${cut(poll.question.text, LONGEST_NAME)} (${poll.answers.map((one) => cut(one.poll_media.text, 60)).join(' / ')})]`,
        ]),
  ];
}
