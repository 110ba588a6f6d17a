import type { MessageEntry, TapeEntry } from '../session/entry.ts';
import type { Session } from '../session/session.ts';

/** Turns that begin with words that a model chose. */
const BY_MODELS: ReadonlySet<string> = new Set(['subagent', 'heartbeat']);
/** Tools whose results may be what another model wrote. */
const ANSWERED_BY_MODELS: ReadonlySet<string> = new Set(['spawn', 'batch']);

/**
 * What of a request was not said by the model: the words of people, and results of tools as far as the model could
 * not have put its own words into them. That are those which came before anything of strangers was there, when nobody
 * could have talked it into that, and later ones that are strangers' own and hold nothing of the owner's (a page).
 * What a model wrote for another session (a task, a result) after it read strangers' words is its own. A summary is the model's. Results come without their header, which repeats what the model asked for.
 */
export function givenTexts(session: Pick<Session, 'window' | 'history'>): readonly string[] {
  const { messages, summary } = session.history();
  const entries = new Map(session.window.map((entry) => [entry.id, entry]));
  const byModels = new Set(
    session.window.flatMap((entry) => (entry.kind === 'turn-start' && BY_MODELS.has(entry.origin) ? [entry.turn] : [])),
  );
  let isClean = summary?.untrusted !== true;
  const texts: string[] = [];
  for (const { entryId } of messages) {
    const entry = entries.get(entryId);
    if (!isMessage(entry) || entry.role === 'assistant') continue;
    const isStrangers = entry.untrusted === true;
    if (entry.role === 'user') {
      if (!(isStrangers && byModels.has(entry.turn))) texts.push(...entry.content.flatMap(wordsIn));
    } else {
      const isTheirs = isStrangers && (entry.private !== true || (isClean && !ANSWERED_BY_MODELS.has(entry.name)));
      if (isTheirs || (isClean && !isStrangers)) texts.push(bodyOf(entry.output));
    }
    if (isStrangers) isClean = false;
  }
  return texts;
}

function wordsIn(part: { readonly type: string; readonly text?: string }): readonly string[] {
  return part.type === 'text' ? [part.text ?? ''] : [];
}

function isMessage(entry: TapeEntry | undefined): entry is MessageEntry {
  return entry?.kind === 'message';
}

function bodyOf(output: string): string {
  const end = output.indexOf('\n');
  return end === -1 ? '' : output.slice(end + 1);
}
