import { cut } from '../../core/api.ts';
import { type Media, isPicture } from '../../core/api-channels.ts';
import { wordsOfCards } from './cards.ts';
import type { DiscordContent } from './payload.ts';

/** What is fetched of a file, bytes. */
export const LARGEST_DOWNLOAD = 25 * 1024 * 1024;
const LONGEST_NAME = 200;
const LONGEST_CARD = 4_000;

/** What came with a message beside its text. */
interface DiscordAttachments {
  readonly media: readonly Media[];
  /** One text in brackets for each file that cannot be fetched. */
  readonly words: readonly string[];
  /** What the sender may not have written: cards, polls, names of stickers. */
  readonly shared: readonly string[];
}

/** Reads files, speech, stickers, polls and cards. */
export function attachmentsOf(message: DiscordContent): DiscordAttachments {
  const files = filesOf(message);
  const large = files.filter(({ size = 0 }) => size > LARGEST_DOWNLOAD);
  return {
    media: files.filter((file) => !large.includes(file)),
    words: large.map(tooLarge),
    shared: sharedIn(message),
  };
}

/** The same in a few words, for a message that is only quoted. */
export function namedAttachments(message: DiscordContent): readonly string[] {
  return [...filesOf(message).map(({ kind, name = '' }) => `[${kind} ${name}]`), ...sharedIn(message)];
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

function sharedIn({ sticker_items: stickers = [], poll, embeds, components }: DiscordContent): readonly string[] {
  return [
    ...wordsOfCards({ embeds, components }).map((words) => cut(words, LONGEST_CARD)),
    ...stickers.map(({ name }) => `[sticker ${cut(name, 60)}]`),
    ...(poll === undefined
      ? []
      : [
          `[poll: ${cut(poll.question.text, LONGEST_NAME)} (${poll.answers.map((one) => cut(one.poll_media.text, 60)).join(' / ')})]`,
        ]),
  ];
}
