import type { Role } from '../../bus/messages.ts';
import { type EntryDraft, type TapeEntry, saidIn } from '../../session/entry.ts';
import type { App } from '../../app.ts';
import type { TapeCall, TapeActions, TapeAnswer } from '../../tools/tape.ts';
import type { Taint } from '../../tools/tool.ts';
import { localMinute } from '../../util/time-zone.ts';
import { countText, cutStart, oneLine, plural, sizeText } from '../../util/text.ts';
import { windowOf } from './last-exchange.ts';

/** At most this many of the newest entries are read. */
const MOST_READ = 200_000;
const MOST_FOUND = 10;
const MOST_ANCHORS = 20;
/** Caps in characters: of the text around a match and of a listed anchor, of a summary for handoff. */
const SNIPPET = 160;
const LONGEST_SUMMARY = 8_000;
const DAY_MS = 86_400_000;

/** The actions of the `tape` tool and of /tape. A summary is kept without secrets. */
export function createTape(app: App): TapeActions {
  return {
    info: (sessionKey) => info(sessionKey, app),
    search: (request) => search(request, app),
    anchors: (request) => anchors(request, app),
    handoff: (request) => handoff(request, app),
    async reset({ sessionKey, archive, during }) {
      await app.resetSession(sessionKey, 'tape', { consolidate: archive, during });
      const before = during === null ? '' : ' from before this turn';
      const kept = archive ? 'A summary of them is being written to the memory.' : 'They stay in its record.';
      return answer(`The conversation starts again: the messages${before} are no longer part of it. ${kept}`);
    },
  };
}

/**
 * The tape entry of a reset. With `during`, that turn stays in the history as a whole, and the entry has its taint, so
 * that untrusted content cannot remove its mark by asking for a reset.
 */
export function resetDraft(reason: string, during: TapeCall | null): EntryDraft {
  return { kind: 'reset', turn: during?.turnId ?? null, reason, ...(during === null ? {} : flags(during)) };
}

async function info(sessionKey: string, app: App): Promise<TapeAnswer> {
  const { timezone } = app.config.agent;
  const session = await app.sessions.open(sessionKey);
  let bytes = 0;
  const counts = { entries: 0, messages: 0, turns: 0, anchors: 0, resets: 0 };
  let first: TapeEntry | undefined;
  for await (const entry of limited(session.backwards({ onRead: (count) => (bytes += count) }))) {
    first = entry;
    counts.entries += 1;
    if (entry.kind === 'message') counts.messages += 1;
    if (entry.kind === 'turn-end') counts.turns += 1;
    if (entry.kind === 'anchor') counts.anchors += 1;
    if (entry.kind === 'reset') counts.resets += 1;
  }
  if (first === undefined) return answer('No messages are recorded here yet.');
  const { used, window, share } = (await app.prompts.report(sessionKey)).tokens;
  const days = Math.floor((app.clock.now() - first.at) / DAY_MS);
  const more = counts.entries === MOST_READ ? 'At least ' : '';
  return answer(
    [
      `- ${more}${plural(counts.entries, 'entry', 'entries')}, ${plural(counts.messages, 'message')} in ${plural(counts.turns, 'turn')}, ${sizeText(bytes)}`,
      `- Since ${date(first, timezone)} (${plural(days, 'day')} ago)`,
      `- ${plural(counts.anchors, 'anchor')}, ${plural(counts.resets, 'reset')}`,
      `- In the conversation now: ${plural(session.history().messages.length, 'message')}; about ${countText(used)} of ${countText(window)} tokens (${Math.round(100 * share)}%) with prompt and tools`,
    ].join('\n'),
  );
}

async function search(
  { sessionKey, query, role, signal }: Parameters<TapeActions['search']>[0],
  app: App,
): Promise<TapeAnswer> {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return refused('Nothing was done: search needs text, the words to search for.');
  const session = await app.sessions.open(sessionKey);
  const found: TapeEntry[] = [];
  const lines: string[] = [];
  for await (const entry of settled(limited(session.backwards()))) {
    signal?.throwIfAborted();
    if (entry.kind !== 'message' || !mayRead(entry, role)) continue;
    const said = saidIn(entry).replace(/\s+/gu, ' ');
    const at = said.toLowerCase().indexOf(wanted.replace(/\s+/gu, ' '));
    if (at === -1) continue;
    if (found.length === MOST_FOUND) {
      lines.push('- There is more, further back.');
      break;
    }
    found.push(entry);
    lines.push(`- ${date(entry, app.config.agent.timezone)}, ${entry.role}: ${snippet(said, at)}`);
  }
  if (lines.length === 0) return answer(`No message here contains “${oneLine(query, 80)}”.`);
  return { ...answer(lines.join('\n')), ...taintOf(found) };
}

async function anchors({ sessionKey, role }: Parameters<TapeActions['anchors']>[0], app: App): Promise<TapeAnswer> {
  const session = await app.sessions.open(sessionKey);
  const shown: TapeEntry[] = [];
  const lines: string[] = [];
  for await (const entry of limited(session.backwards())) {
    if (entry.kind !== 'anchor') continue;
    if (lines.length === MOST_ANCHORS) {
      lines.push('- There are more, further back.');
      break;
    }
    const isOpen = mayRead(entry, role);
    if (isOpen) shown.push(entry);
    const words = isOpen ? oneLine(entry.summary, SNIPPET) : '(private)';
    lines.push(`- ${date(entry, app.config.agent.timezone)}, ${entry.reason}: ${words}`);
  }
  if (lines.length === 0) return answer('There are no anchors here: nothing has been summarized yet.');
  return { ...answer(lines.join('\n')), ...taintOf(shown) };
}

async function handoff(
  { sessionKey, summary, during }: Parameters<TapeActions['handoff']>[0],
  app: App,
): Promise<TapeAnswer> {
  const text = app.redact(summary).trim();
  if (text === '')
    return refused('Nothing was done: handoff needs text, the summary that replaces the earlier messages.');
  if (text.length > LONGEST_SUMMARY) {
    return refused(
      `The summary has ${countText(text.length)} characters; at most ${countText(LONGEST_SUMMARY)} are taken. Shorten it.`,
    );
  }
  const session = await app.sessions.open(sessionKey);
  const id = during === null ? undefined : `${during.callId}:handoff`;
  const done = answer(
    'From now on this summary replaces the earlier messages in the conversation. They stay in its record.',
  );
  if (session.window.some((entry) => entry.id === id)) return done;
  const window = windowOf(session.window);
  // The window begins after everything that the last anchor covers, so this anchor covers more than that one.
  const end = window.entries
    .slice(window.from)
    .findLast((entry) => entry.kind === 'turn-end' && entry.turn !== during?.turnId);
  if (end === undefined) return refused('There are no new messages that a summary could replace.');
  const history = session.history();
  const taint = {
    untrusted: history.untrusted || during?.untrusted === true,
    private: history.private || during?.private === true,
  };
  const anchor: EntryDraft = {
    kind: 'anchor',
    turn: null,
    summary: text,
    upTo: end.id,
    reason: 'handoff',
    ...flags(taint),
    ...(id === undefined ? {} : { id }),
  };
  await session.append([anchor]);
  return done;
}

/** The entries of turns that ended and were not retracted, newest first. */
async function* settled(newestFirst: AsyncIterable<TapeEntry>): AsyncGenerator<TapeEntry> {
  const ended = new Set<string>();
  const retracted = new Set<string>();
  for await (const entry of newestFirst) {
    if (entry.kind === 'retract') for (const turn of entry.turns) retracted.add(turn);
    if (entry.kind === 'turn-end' && entry.turn !== null) ended.add(entry.turn);
    if (entry.turn === null || (ended.has(entry.turn) && !retracted.has(entry.turn))) yield entry;
  }
}

async function* limited(newestFirst: AsyncIterable<TapeEntry>): AsyncGenerator<TapeEntry> {
  let read = 0;
  for await (const entry of newestFirst) {
    yield entry;
    read += 1;
    if (read === MOST_READ) return;
  }
}

function mayRead(entry: TapeEntry, role: Role): boolean {
  return role === 'owner' || entry.private !== true;
}

function snippet(said: string, at: number): string {
  const from = Math.max(0, at - Math.floor(SNIPPET / 3));
  return `${from > 0 ? '…' : ''}${oneLine(cutStart(said, said.length - from), SNIPPET)}`;
}

function taintOf(entries: readonly TapeEntry[]): Taint {
  return {
    untrusted: entries.some((entry) => entry.untrusted === true),
    private: entries.some((entry) => entry.private === true),
  };
}

/** The taint as fields of an entry; a mark that is not set is left out. */
function flags({ untrusted, private: isPrivate }: Taint): Pick<TapeEntry, 'untrusted' | 'private'> {
  return { ...(untrusted ? { untrusted: true } : {}), ...(isPrivate ? { private: true } : {}) };
}

function answer(text: string): TapeAnswer {
  return { text, refused: false, untrusted: false, private: false };
}

function refused(text: string): TapeAnswer {
  return { ...answer(text), refused: true };
}

function date(entry: TapeEntry, timezone: string | null): string {
  return localMinute(entry.at, timezone);
}
