import { toSpans } from './markdown.ts';
import type { Span } from './spans.ts';

/** What a server of OpenAI's API takes in one request, in UTF-16 units. */
const MOST = 4_096;
/** Ends a text that is too long to be spoken. */
const REST = 'The rest is in the text.';
/** In place of code and of tables, which nobody can listen to. */
const UNSPOKEN = 'See the text.';

/** Markdown as a voice says it: no signs, no code, no tables, of an address its host; never empty, at most 4,096 units. */
export function spokenText(markdown: string): string {
  const words = toSpans(markdown, () => true)
    .map(spoken)
    .join('')
    .replaceAll(/https?:\/\/(?:www\.)?([^\s/?#]+)[^\s)\]]*/giu, '$1')
    .replaceAll(new RegExp(`(?:${UNSPOKEN}\\s*){2,}`, 'gu'), `${UNSPOKEN} `)
    .replaceAll(/[ \t]+/gu, ' ')
    .replaceAll(/\s*\n\s*\n\s*/gu, '\n\n')
    .trim();
  if (words === '') return UNSPOKEN;
  if (words.length <= MOST) return words;
  return `${wholeSentences(words.slice(0, MOST - REST.length - 1))} ${REST}`;
}

function spoken({ text, pre, role, item }: Span): string {
  if (pre !== undefined) return `${UNSPOKEN} `;
  if (role === 'rule') return '';
  return role === 'marker' && item?.number === undefined ? '' : text;
}

/** A beginning of a text, cut after its last sentence, else after its last word. */
function wholeSentences(text: string): string {
  const end = Math.max(
    ...['. ', '! ', '? ', '.\n', '!\n', '?\n', '。', '！', '？'].map((sign) => text.lastIndexOf(sign)),
  );
  if (end > text.length / 2) return text.slice(0, end + 1);
  const space = text.search(/\s\S*$/u);
  const words = space > text.length / 2 ? text.slice(0, space) : text;
  // Half of a pair at the end.
  return words.toWellFormed().replace(/\ufffd$/u, '');
}
