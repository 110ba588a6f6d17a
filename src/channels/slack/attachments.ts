import type { Media } from '../../bus/messages.ts';
import { cut } from '../../util/text.ts';
import { isPicture } from '../inbound/attachments.ts';
import type { PlacedPost, SlackFile } from './post.ts';
import { withNames, type NameOf } from './mentions.ts';

/** What is fetched of a file, bytes. */
const LARGEST_DOWNLOAD = 25 * 1024 * 1024;
const LONGEST_NAME = 200;
const LONGEST_SHARE = 4_000;

/** What came with a post beside its text. */
export interface SlackAttachments {
  readonly media: readonly Media[];
  /** What is no file that can be had, in words. */
  readonly words: readonly string[];
  /** Somebody else's words are among them. */
  readonly shared: boolean;
}

export function attachmentsOf(
  { text, files = [], attachments = [] }: PlacedPost['post'],
  nameOf: NameOf,
): SlackAttachments {
  const media: Media[] = [];
  const words: string[] = [];
  for (const file of files) {
    const name = nameOfFile(file);
    if (file.mode === 'tombstone') words.push(`[${name} was deleted]`);
    else if (file.mode === 'hidden_by_limit') words.push(`[${name} is hidden by Slack's limits]`);
    else if (file.mode === 'external') words.push(`[${name} lies somewhere else than at Slack]`);
    else if ((file.size ?? 0) > LARGEST_DOWNLOAD)
      words.push(`[${name} has ${Math.ceil((file.size ?? 0) / 1024 ** 2)} MB; files up to 25 MB are fetched]`);
    else media.push(mediaOf(file));
  }
  const shares = attachments.filter(({ is_share: isShare, is_msg_unfurl: isUnfurl }) => isShare === true || isUnfurl);
  for (const { text: given, fallback = '', author_name: author = 'somebody' } of shares) {
    const shared = cut(withNames(given ?? fallback, nameOf), LONGEST_SHARE);
    words.push(text === '' && shares.length === 1 ? shared : `[shared, written by ${author}:]\n${shared}`);
  }
  return { media, words, shared: shares.length > 0 };
}

function mediaOf(file: SlackFile): Media {
  const { id, mimetype = 'application/octet-stream', size, subtype } = file;
  const [family] = mimetype.split('/');
  const isSound = family === 'audio' || subtype === 'slack_audio';
  const isFilm = family === 'video' && !isSound;
  const name = file.name ?? file.title;
  return {
    kind: isPicture(mimetype) ? 'image' : isSound ? 'audio' : isFilm ? 'video' : 'document',
    mediaType: mimetype,
    path: '',
    source: id,
    ...(isSound || subtype === 'slack_video' ? { speech: true } : {}),
    ...(name === undefined ? {} : { name: cut(name, LONGEST_NAME) }),
    ...(size === undefined ? {} : { size }),
  };
}

function nameOfFile({ name, title }: SlackFile): string {
  return JSON.stringify(cut(name ?? title ?? 'file', LONGEST_NAME));
}
