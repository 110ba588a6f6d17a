import type { MessageEntry, TapeEntry } from '../session/entry.ts';
import type { Session } from '../session/session.ts';

/**
 * What of a request was not said by the model: the words of people, and results of tools as far as the model could
 * not have put its own words into them. That are those which came before anything of strangers was there, when nobody
 * could have talked it into that, and later ones that are strangers' own and hold nothing of the owner's (a page).
 * A summary is the model's. Results come without their header, which repeats what the model asked for.
 */
export function givenTexts(session: Pick<Session, 'window' | 'history'>): readonly string[] {
  const { messages, summary } = session.history();
  const entries = new Map(session.window.map((entry) => [entry.id, entry]));
  let isClean = summary?.untrusted !== true;
  const texts: string[] = [];
  for (const { entryId } of messages) {
    const entry = entries.get(entryId);
    if (!isMessage(entry) || entry.role === 'assistant') continue;
    if (entry.role === 'user')
      texts.push(...entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
    else if (isClean || (entry.untrusted === true && entry.private !== true)) texts.push(bodyOf(entry.output));
    if (entry.untrusted === true) isClean = false;
  }
  return texts;
}

function isMessage(entry: TapeEntry | undefined): entry is MessageEntry {
  return entry?.kind === 'message';
}

function bodyOf(output: string): string {
  const end = output.indexOf('\n');
  return end === -1 ? '' : output.slice(end + 1);
}
