import type { MessageEntry, UserEntry } from '../../session/entry.ts';
import { closingText } from '../../session/history.ts';
import { cut, cutStart, oneLine, plural } from '../../util/text.ts';
import type { HistoryEntry } from '../files/history-file.ts';
import type { TurnSpan } from './session-span.ts';

/** How a turn is written down as text. */
export interface CopyOptions {
  /** Bytes of the whole turn. @default no limit */
  readonly most?: number;
}

/** Characters of one thing that a person or the assistant said. */
const LONGEST_TEXT = 20_000;
const SHORTEST_TEXT = 400;
/** Characters of a tool result. */
const LONGEST_RESULT = 600;
const LONGEST_ARGUMENTS = 200;

/**
 * A turn as text: what people and the assistant said as it is, tool calls and results shortened, reasoning left out.
 * Long texts keep their beginning and their end.
 */
export function copyOf(turn: TurnSpan, { most = Infinity }: CopyOptions = {}): string {
  for (let limit = LONGEST_TEXT; ; limit = Math.floor(limit / 2)) {
    const text = turn.entries
      .flatMap((entry) => {
        if (entry.kind === 'message') return linesOf(entry, limit);
        const closing = entry.kind === 'turn-end' ? closingText(entry) : null;
        return closing === null ? [] : [`assistant: ${shorten(closing, limit)}`];
      })
      .filter((line) => line !== '')
      .join('\n');
    const bytes = Buffer.byteLength(text);
    if (bytes <= most) return text;
    if (limit <= SHORTEST_TEXT) return shorten(text, Math.floor((most * text.length) / bytes));
  }
}

/** All that people wrote in a turn, and what was answered. */
export function saidIn(turn: TurnSpan): string {
  return turn.entries
    .flatMap((entry) => {
      if (entry.kind !== 'message' || entry.role === 'tool') return [];
      if (entry.role === 'user') return [wordsOf(entry)];
      return entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    })
    .join('\n');
}

/** The first thing that somebody said in a turn, on one line. */
function requestOf(turn: TurnSpan, limit: number): string {
  const entry = turn.entries.find((known) => known.kind === 'message' && known.role === 'user');
  return entry?.kind === 'message' && entry.role === 'user' ? oneLine(wordsOf(entry), limit) : '';
}

function linesOf(entry: MessageEntry, limit: number): readonly string[] {
  const mark = entry.untrusted === true ? ' (not trusted)' : '';
  switch (entry.role) {
    case 'user': {
      const { about, words } = partsOf(entry);
      return [`${about === '' ? 'user' : `user [${about}]`}${mark}: ${shorten(words, limit)}`];
    }
    case 'assistant':
      return entry.content.map((part) => {
        if (part.type === 'text')
          return part.text.trim() === '' ? '' : `assistant: ${shorten(part.text.trim(), limit)}`;
        return part.type === 'tool-call'
          ? `assistant called ${part.name} ${oneLine(part.arguments, LONGEST_ARGUMENTS)}`
          : '';
      });
    case 'tool': {
      const outcome = entry.isError ? 'failed' : 'gave';
      return [`${entry.name} ${outcome}${mark}: ${shorten(entry.output.trim(), Math.min(limit, LONGEST_RESULT))}`];
    }
  }
}

function wordsOf(entry: UserEntry): string {
  return partsOf(entry).words;
}

/** The program's own block in front of a message (see agent/prompt/user-message.ts), on one line, and what was said. */
function partsOf({ content }: UserEntry): { readonly about: string; readonly words: string } {
  const texts = content.map((part) => (part.type === 'text' ? withoutSkill(part.text) : '[image]'));
  const block = /^<context>\n(?<facts>[\s\S]*?)\n<\/context>$/u.exec(texts[0] ?? '');
  const about = (block?.groups?.['facts'] ?? '').split('\n').join('; ');
  return { about, words: (block === null ? texts : texts.slice(1)).join('\n').trim() };
}

/** The text of a skill that a message brought in is no one's words. */
function withoutSkill(text: string): string {
  return text.replace(/^<skill name="(?<name>[^"]*)"[\s\S]*<\/skill>\s*$/u, '[skill $<name>]');
}

function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.floor((2 * limit) / 3);
  const tail = Math.max(0, limit - head - 40);
  const left = text.length - head - tail;
  return `${cut(text, head)} […${left} characters left out…] ${tail === 0 ? '' : cutStart(text, tail)}`;
}

/** Characters of a summary in an anchor. */
export const LONGEST_SUMMARY = 8_000;
const OLDER = '[Older parts of this summary are in memory/HISTORY.md; memory_search finds them.]';

/**
 * The current summary extended by the newly consolidated parts; if it gets too long, the oldest paragraphs are left
 * out.
 */
export function summaryOf(
  previous: string | null,
  entries: readonly string[],
  longest: number = LONGEST_SUMMARY,
): string {
  const paragraphs = [previous ?? '', ...entries]
    .flatMap((text) => text.split(/\n{2,}/u))
    .map((text) => text.trim())
    .filter((text) => text !== '' && text !== OLDER);
  const isShortened = previous?.includes(OLDER) === true;
  const whole = [...(isShortened ? [OLDER] : []), ...paragraphs].join('\n\n');
  if (whole.length <= longest) return whole;
  const space = longest - OLDER.length - 2;
  const kept: string[] = [];
  let length = 0;
  for (const paragraph of paragraphs.toReversed()) {
    length += paragraph.length + 2;
    if (length > space) break;
    kept.unshift(paragraph);
  }
  if (kept.length === 0) kept.push(cutStart(paragraphs.at(-1) ?? '', space));
  return [OLDER, ...kept].join('\n\n');
}

/** Bytes of one paragraph of raw text. */
const LONGEST_PARAGRAPH = 60_000;
const SHOWN_REQUESTS = 8;

/** The turns themselves for HISTORY.md, one paragraph each, where no model could be asked. */
export function rawEntries(turns: readonly TurnSpan[]): readonly HistoryEntry[] {
  return turns.map((turn) => ({ at: turn.at, text: copyOf(turn, { most: LONGEST_PARAGRAPH }) }));
}

/** The turns without the messages of the assistant. */
export function withoutAssistant(turns: readonly TurnSpan[]): readonly TurnSpan[] {
  return turns.map((turn) => ({
    ...turn,
    entries: turn.entries.filter((entry) => entry.kind === 'message' && entry.role === 'user'),
  }));
}

/** The owner's note as an entry of its own, word by word. */
export function noteEntry(note: string, at: number): HistoryEntry {
  return { at, text: `Noted by the owner: ${note.trim()}` };
}

/** MEMORY.md with the note as a line at its end. */
export function withNote(memory: string, note: string): string {
  const line = `- ${note.replace(/\s+/gu, ' ').trim()}`;
  return memory.trim() === '' ? `${line}\n` : `${memory.trimEnd()}\n${line}\n`;
}

/** Says in a summary what the turns were about, made without a model. */
export function rawSummary(turns: readonly TurnSpan[]): string {
  const requests = turns.map((turn) => requestOf(turn, 120)).filter((text) => text !== '');
  const shown = requests.slice(-SHOWN_REQUESTS).map((text) => `- ${text}`);
  const more = requests.length - shown.length;
  return [
    `${plural(turns.length, 'exchange')} went into memory/HISTORY.md as they were said, without a summary; memory_search finds them. ${more > 0 ? 'The last of them began with:' : 'They began with:'}`,
    ...shown,
  ].join('\n');
}

/** What a conversation that is not the owner's own is marked with in HISTORY.md. */
export function tagOf(session: string, role: string): string {
  return `${oneLine(session, 120)}, ${role}`;
}
