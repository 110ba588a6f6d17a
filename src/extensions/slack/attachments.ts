import { type Media, isPicture } from '../../core/api-channels.ts';
import { cut } from '../../core/api.ts';
import type { PlacedPost, SlackFile } from './post.ts';
import { wordsOfBlocks, wordsOfCard } from './cards.ts';
import type { NameOf } from './mentions.ts';

/** What is fetched of a file, bytes. */
const LARGEST_DOWNLOAD = 25 * 1024 * 1024;
const LONGEST_NAME = 200;
const LONGEST_SHARE = 4_000;

/** The content of a post. */
export interface SlackContent {
  /** What its sender wrote; of a bot's post that has no text, its blocks. In Slack's markup. */
  readonly said: string;
  readonly media: readonly Media[];
  /** One text in brackets for each file that cannot be fetched. */
  readonly words: readonly string[];
  /** Text of others: shared messages and cards. */
  readonly shared: readonly string[];
}

export function contentOf(post: PlacedPost['post'], nameOf: NameOf): SlackContent {
  const { files = [], attachments = [] } = post;
  // The preview of a link says nothing that its sender wrote or chose.
  const cards = attachments.filter(
    ({ is_share: isShare, is_msg_unfurl: isUnfurl, from_url: address }) =>
      isShare === true || isUnfurl === true || address === undefined,
  );
  const media: Media[] = [];
  const words: string[] = [];
  const shown = cards.flatMap(({ files: own = [], author_name: author = 'somebody' }) =>
    own.map((file) => ({ file, quoted: { quotedFrom: author } })),
  );
  for (const { file, quoted } of [...files.map((one) => ({ file: one, quoted: {} })), ...shown]) {
    const name = nameOfFile(file);
    if (file.mode === 'tombstone') words.push(`[${name} was deleted]`);
    else if (file.mode === 'hidden_by_limit') words.push(`[${name} is hidden by Slack's limits]`);
    else if (file.mode === 'external') words.push(`[${name} lies somewhere else than at Slack]`);
    else if ((file.size ?? 0) > LARGEST_DOWNLOAD)
      words.push(`[${name} has ${Math.ceil((file.size ?? 0) / 1024 ** 2)} MB; files up to 25 MB are fetched]`);
    else media.push({ ...mediaOf(file), ...quoted });
  }
  const said = saidIn(post);
  const isAlone = said.trim() === '' && cards.length === 1;
  const shared = cards.map((card) => {
    const text = cut(wordsOfCard(card, nameOf), LONGEST_SHARE);
    const author = card.author_name ?? 'somebody';
    return isAlone && text !== '' ? text : `[shared, written by ${author}:]\n${text}`;
  });
  return { said, media, words, shared };
}

/** The text of a bot's post may only sum up its blocks; the blocks of a person's post say what its text says. */
function saidIn({ text, blocks, bot_id: bot }: PlacedPost['post']): string {
  if (text.trim() !== '' && bot === undefined) return text;
  const shown = wordsOfBlocks(blocks);
  return shown.length > text.length ? shown : text;
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
