import type { Role } from '../../bus/messages.ts';
import type { Origins } from '../../bus/origins.ts';
import { asRole, atLeast } from '../../security/access/access.ts';
import type { GivenText } from '../../security/access/url-origin.ts';
import type { MessageEntry, TapeEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';

/** Tools whose results may hold text that a model wrote. */
const ANSWERED_BY_MODELS: ReadonlySet<string> = new Set(['spawn', 'batch']);

/** Whether one of these roles is below `role`: text counts for the role of its author. */
export function hasWeakerAuthors(authors: Iterable<string>, role: Role): boolean {
  return Array.from(authors).some((author) => !atLeast(asRole(author), role));
}

/** What the model wrote up to one place of the conversation. */
interface Said {
  /** Its texts and the strings of its calls, since untrusted content came into the conversation. */
  readonly tainted: string[];
  /** Call id → the strings in the arguments of the call. */
  readonly calls: Map<string, readonly string[]>;
  /** True if no untrusted content came before the newest message of the model. */
  precedesUntrusted: boolean;
}

/**
 * The texts of a session that the model did not write, so that untrusted content cannot have made the model write them:
 * - messages of people, but not the press of a button whose label a model wrote after it read untrusted content;
 * - results of calls that the model made before any untrusted content was in the conversation;
 * - later results that are untrusted content themselves and not private (a web page).
 *
 * Not among them: errors and the headers of results, which repeat the arguments; tasks and results that a model wrote
 * for another session after it read untrusted content; summaries. What people below `role` wrote counts as untrusted.
 */
export function givenTexts(
  session: Pick<Session, 'window' | 'history'>,
  origins: Origins,
  role: Role = 'guest',
): readonly GivenText[] {
  const { messages, summary } = session.history();
  const weaker = new Set(
    session.window.flatMap((entry) =>
      entry.kind === 'turn-start' && hasWeakerAuthors([entry.role], role) ? [entry.turn] : [],
    ),
  );
  const entries = new Map(session.window.map((entry) => [entry.id, entry]));
  const byModels = new Set(
    session.window.flatMap((entry) =>
      entry.kind === 'turn-start' && origins.of(entry.origin).isByPeople !== true ? [entry.turn] : [],
    ),
  );
  let isClean = summary?.untrusted !== true && !hasWeakerAuthors(summary?.authors ?? [], role);
  const said: Said = { tainted: [], calls: new Map(), precedesUntrusted: isClean };
  const texts: GivenText[] = [];
  for (const { entryId } of messages) {
    const entry = entries.get(entryId);
    if (!isMessage(entry)) continue;
    const isUntrusted = entry.untrusted === true || weaker.has(entry.turn);
    if (entry.role === 'assistant') {
      said.precedesUntrusted = isClean;
      hear(said, entry, isUntrusted);
    } else if (entry.role === 'user') {
      const isModels = isUntrusted && (byModels.has(entry.turn) || entry.pressed === true);
      if (!isModels) texts.push(...wordsOf(entry, said, isUntrusted));
    } else if (!entry.isError && mayGive(entry, said)) {
      texts.push({
        text: bodyOf(entry.output),
        untrusted: isUntrusted,
        private: entry.private === true,
        repeats: said.calls.get(entry.callId) ?? [],
      });
    }
    if (isUntrusted) isClean = false;
  }
  return texts;
}

function hear(said: Said, { content }: Extract<MessageEntry, { role: 'assistant' }>, isUntrusted: boolean): void {
  for (const part of content) {
    if (part.type === 'reasoning') continue;
    const strings = part.type === 'text' ? [part.text] : stringsIn(part.arguments);
    if (part.type === 'tool-call') said.calls.set(part.callId, strings);
    if (isUntrusted || !said.precedesUntrusted) said.tainted.push(...strings);
  }
}

/**
 * The texts of a person's message. Its first part is the `<context>` block of the program, which may quote the model.
 */
function wordsOf(
  { content }: Extract<MessageEntry, { role: 'user' }>,
  said: Said,
  untrusted: boolean,
): readonly GivenText[] {
  return content.flatMap((part, at) =>
    part.type === 'text' ? [{ text: part.text, untrusted, repeats: at === 0 ? [...said.tainted] : [] }] : [],
  );
}

function mayGive(entry: Extract<MessageEntry, { role: 'tool' }>, { precedesUntrusted }: Said): boolean {
  const isAlone = precedesUntrusted && !ANSWERED_BY_MODELS.has(entry.name);
  return entry.untrusted === true ? entry.private !== true || isAlone : precedesUntrusted;
}

function isMessage(entry: TapeEntry | undefined): entry is MessageEntry {
  return entry?.kind === 'message';
}

function bodyOf(output: string): string {
  const end = output.indexOf('\n');
  return end === -1 ? '' : output.slice(end + 1);
}

/** All strings in the arguments of a call, at any depth; arguments that are not JSON are one string. */
function stringsIn(json: string): readonly string[] {
  const parsed = parse(json);
  return parsed === undefined ? [json] : strings(parsed);
}

/** Parses arguments; undefined when they are not JSON. */
export function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function strings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}
