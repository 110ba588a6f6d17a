import { bulletOf } from '../files/facts.ts';
import { withoutFolders } from '../../storage/editor-sessions.ts';
import { askingIn, FORGOTTEN, type Mention } from './mention.ts';

/** How a text reads after something is forgotten. Each returns the same text when it is not mentioned. */
export type Forget = (text: string, mention: Mention) => string;

/** Fields of records that name things and people: they hold no prose, and other records refer to them. */
const NAMES = new Set(
  [
    'v id at turn turns kind role type key class outcome stopReason state callId providerCallId name tool',
    'provider model mediaType hash path source sources channel account chat chatId threadId chatType',
    'session sessionKey externalId sender origin skills call usage upTo dropUpTo stubUpTo imagesUpTo who',
    'decision level time pid job code metadata',
  ].flatMap((line) => line.split(' ')),
);

/** Each line that mentions it is replaced; several in a row are one. */
export const forgetLines: Forget = (text, mention) => {
  if (!mention.isIn(text)) return text;
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const next = mention.takes(line) ? startOf(line) + FORGOTTEN : line;
    if (next !== FORGOTTEN || lines.at(-1) !== FORGOTTEN) lines.push(next);
  }
  return lines.join('\n');
};

/** What stays of a line: a list mark, or the command that asks for this, which may be given again after a crash. */
function startOf(line: string): string {
  return askingIn(line) ?? bulletOf(line);
}

/** Each line that mentions it leaves, as a fact of MEMORY.md does. */
export const dropLines: Forget = (text, mention) =>
  mention.isIn(text)
    ? text
        .split('\n')
        .filter((line) => !mention.takes(line))
        .join('\n')
    : text;

/** Each paragraph that mentions it in a line leaves, as one of HISTORY.md does. */
export const dropParagraphs: Forget = (text, mention) => {
  if (!mention.isIn(text)) return text;
  const kept = text.split(/\n{2,}/u).filter((paragraph) => !mention.takes(paragraph));
  const joined = kept.join('\n\n');
  return joined === '' || joined.endsWith('\n') ? joined : `${joined}\n`;
};

/** An earlier version of a file: the reason in its first line is replaced, of the rest each line leaves. */
export const forgetVersion: Forget = (text, mention) => {
  const end = text.startsWith('<!-- {') ? text.indexOf('\n') + 1 : 0;
  const [header, rest] = [text.slice(0, end), text.slice(end)];
  const shown = header.replace(/"reason":"(?:[^"\\]|\\.)*"/u, (reason) =>
    mention.isIn(reason) ? `"reason":${JSON.stringify(FORGOTTEN)}` : reason,
  );
  return shown + dropLines(rest, mention);
};

/** What is kept of the conversations of code editors: a folder that is mentioned leaves, with the conversations in it. */
export const forgetFolders: Forget = (text, mention) =>
  mention.isIn(text) ? withoutFolders(text, (folder) => mention.takes(folder)) : text;

/** Lines of JSON: in each, the lines of its texts that mention it are replaced. A line that is no JSON is replaced as a whole. */
export const forgetJsonLines: Forget = (text, mention) =>
  mention.isIn(text)
    ? text
        .split('\n')
        .map((line) => (mention.isIn(line) ? forgetJson(line, mention) : line))
        .join('\n')
    : text;

/** One JSON value, or a plain text. */
export const forgetJson: Forget = (text, mention) => {
  if (!mention.isIn(text)) return text;
  const value = parsed(text);
  return value === undefined ? forgetLines(text, mention) : JSON.stringify(inValue(value, mention));
};

function inValue(value: unknown, mention: Mention): unknown {
  if (typeof value === 'string') {
    const inner = parsed(value);
    return inner === undefined ? forgetLines(value, mention) : forgetJson(value, mention);
  }
  if (Array.isArray(value)) {
    return value.filter((part) => !isThought(part, mention)).map((part) => inValue(part, mention));
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    NAMES.has(name) ? field : inValue(field, mention),
  ]);
  return Object.fromEntries(fields);
}

/** What a model thought is signed by its provider, so it is kept as it is or not at all. */
function isThought(part: unknown, mention: Mention): boolean {
  if (typeof part !== 'object' || part === null || !('type' in part) || part.type !== 'reasoning') return false;
  return mention.isIn(JSON.stringify(part));
}

/** The object or list that a text is; undefined for any other text. */
function parsed(text: string): unknown {
  if (!/^\s*[{[]/u.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
