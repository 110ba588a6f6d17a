import type { GivenText } from '../../security/access/url-origin.ts';
import type { MessageEntry, TapeEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';

/** Turns that begin with words that a model chose. */
const BY_MODELS: ReadonlySet<string> = new Set(['subagent', 'heartbeat']);
/** Tools whose results may be what another model wrote. */
const ANSWERED_BY_MODELS: ReadonlySet<string> = new Set(['spawn', 'batch']);

/** What the model said up to a place of the conversation, as far as it matters to what is given after it. */
interface Said {
  /** Its words and calls since strangers had a say. */
  readonly tainted: string[];
  /** What each call was asked with, by call id. */
  readonly calls: Map<string, readonly string[]>;
  /** No text of strangers stood before the newest message of the model. */
  wasClean: boolean;
}

/**
 * What of a request was not said by the model: the words of people, and results of tools as far as the model could not
 * have put its own words into them. Those are results of calls that it made before anything of strangers was there,
 * when nobody could have talked it into that, and later ones that are strangers' own and hold nothing of the owner's (a
 * page). No failure is among them: it names what was asked for. What a model wrote for another session (a task, a
 * result) after it read strangers' words is its own, and so is the label of a button that somebody presses. A summary is
 * the model's. Results come without their header, which repeats what the model asked for.
 */
export function givenTexts(session: Pick<Session, 'window' | 'history'>): readonly GivenText[] {
  const { messages, summary } = session.history();
  const entries = new Map(session.window.map((entry) => [entry.id, entry]));
  const byModels = new Set(
    session.window.flatMap((entry) => (entry.kind === 'turn-start' && BY_MODELS.has(entry.origin) ? [entry.turn] : [])),
  );
  let isClean = summary?.untrusted !== true;
  const said: Said = { tainted: [], calls: new Map(), wasClean: isClean };
  const texts: GivenText[] = [];
  for (const { entryId } of messages) {
    const entry = entries.get(entryId);
    if (!isMessage(entry)) continue;
    const strangers = entry.untrusted === true;
    if (entry.role === 'assistant') {
      said.wasClean = isClean;
      hear(said, entry);
    } else if (entry.role === 'user') {
      const isModels = strangers && (byModels.has(entry.turn) || entry.pressed === true);
      if (!isModels) texts.push(...wordsOf(entry, said));
    } else if (!entry.isError && mayGive(entry, said)) {
      texts.push({ text: bodyOf(entry.output), strangers, repeats: said.calls.get(entry.callId) ?? [] });
    }
    if (strangers) isClean = false;
  }
  return texts;
}

function hear(said: Said, { content }: Extract<MessageEntry, { role: 'assistant' }>): void {
  for (const part of content) {
    if (part.type === 'reasoning') continue;
    const strings = part.type === 'text' ? [part.text] : stringsIn(part.arguments);
    if (part.type === 'tool-call') said.calls.set(part.callId, strings);
    if (!said.wasClean) said.tainted.push(...strings);
  }
}

/** The first text is the program's block; it may quote what the model said before. What follows are the person's words. */
function wordsOf({ content, untrusted }: Extract<MessageEntry, { role: 'user' }>, said: Said): readonly GivenText[] {
  const strangers = untrusted === true;
  return content.flatMap((part, at) =>
    part.type === 'text' ? [{ text: part.text, strangers, repeats: at === 0 ? [...said.tainted] : [] }] : [],
  );
}

function mayGive(entry: Extract<MessageEntry, { role: 'tool' }>, { wasClean }: Said): boolean {
  const isAlone = wasClean && !ANSWERED_BY_MODELS.has(entry.name);
  return entry.untrusted === true ? entry.private !== true || isAlone : wasClean;
}

function isMessage(entry: TapeEntry | undefined): entry is MessageEntry {
  return entry?.kind === 'message';
}

function bodyOf(output: string): string {
  const end = output.indexOf('\n');
  return end === -1 ? '' : output.slice(end + 1);
}

/** Every text in the arguments of a call, however deep; arguments that are no JSON are one text. */
function stringsIn(json: string): readonly string[] {
  const parsed = parse(json);
  return parsed === undefined ? [json] : strings(parsed);
}

/** Arguments as data; undefined when they are no JSON. */
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
