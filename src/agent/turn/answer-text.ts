import type { TapeEntry } from '../../session/entry.ts';
import { STAY_SILENT } from '../../tools/stay-silent.ts';

/** Texts between tool calls that are long enough to be worth sending by themselves. */
const PART_MIN = 300;

/**
 * What the turn says: the last non-empty text is the answer, earlier long ones go before it. What it has sent to its chat
 * already is left out.
 */
export function textsOf(entries: readonly TapeEntry[]): { readonly parts: readonly string[]; readonly answer: string } {
  const texts = joinedTexts(entries).filter((text) => text !== '');
  const sent = new Set(sentTexts(entries).map(sameText));
  const last = texts.at(-1) ?? '';
  const answer = sent.has(sameText(last)) ? '' : last;
  const seen = new Set([...sent, sameText(last)]);
  const parts = texts.slice(0, -1).filter((text) => {
    if (text.length <= PART_MIN || seen.has(sameText(text))) return false;
    seen.add(sameText(text));
    return true;
  });
  return { parts, answer };
}

/** The beginning of an answer that the output limit cut off and that the model is to continue; else empty. */
export function unfinishedText(entries: readonly TapeEntry[]): string {
  let text = '';
  for (const entry of entries) {
    if (entry.kind !== 'message') continue;
    if (entry.role === 'assistant') text = isCutOff(entry) ? text + textOf(entry) : '';
    if (entry.role === 'user' && entry.sources.length > 0) text = '';
  }
  return text;
}

/**
 * The turn ended itself without a word, with `stay_silent` or, where a job began it, with the action `silent` of `cron`: a
 * decision of the model's, which the tape shows with its reason.
 */
export function choseSilence(entries: readonly TapeEntry[]): boolean {
  return (
    doneCalls(entries, STAY_SILENT).length > 0 || doneCalls(entries, 'cron').some(({ action }) => action === 'silent')
  );
}

type AssistantEntry = Extract<TapeEntry, { kind: 'message'; role: 'assistant' }>;

/** The output limit ended this text; there is something to continue. */
export function isCutOff(entry: AssistantEntry): boolean {
  const hasCalls = entry.content.some((part) => part.type === 'tool-call');
  return entry.stopReason === 'length' && !hasCalls && textOf(entry).trim() !== '';
}

/** Texts that the turn has sent to its own chat with the message tool. */
export function sentTexts(entries: readonly TapeEntry[]): readonly string[] {
  return doneCalls(entries, 'message').flatMap((fields) =>
    !('chat' in fields) && typeof fields['text'] === 'string' ? [fields['text']] : [],
  );
}

/** The arguments of a tool's calls that did not end in an error, in their order; none where they are no object. */
function doneCalls(entries: readonly TapeEntry[], tool: string): readonly Readonly<Record<string, unknown>>[] {
  const done = new Set(
    entries.flatMap((entry) =>
      entry.kind === 'message' && entry.role === 'tool' && entry.name === tool && !entry.isError ? [entry.callId] : [],
    ),
  );
  if (done.size === 0) return [];
  return entries.flatMap((entry) =>
    entry.kind === 'message' && entry.role === 'assistant'
      ? entry.content.flatMap((part) =>
          part.type === 'tool-call' && done.has(part.callId) ? [fieldsOf(part.arguments)] : [],
        )
      : [],
  );
}

function fieldsOf(given: string): Readonly<Record<string, unknown>> {
  try {
    const fields: unknown = JSON.parse(given);
    return typeof fields === 'object' && fields !== null ? { ...fields } : {};
  } catch {
    return {};
  }
}

/** What the model wrote in one message, without its reasoning. */
export function textOf(entry: AssistantEntry): string {
  return entry.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** One text per answer: a text that was cut off and its continuations are one, joined as they are. */
function joinedTexts(entries: readonly TapeEntry[]): readonly string[] {
  const texts: string[] = [];
  let goesOn = false;
  for (const entry of entries) {
    if (entry.kind !== 'message') continue;
    if (entry.role === 'assistant') {
      const text = textOf(entry);
      if (goesOn) texts.push((texts.pop() ?? '') + text);
      else texts.push(text);
      goesOn = isCutOff(entry);
    } else if (entry.role === 'user' && entry.sources.length > 0) {
      goesOn = false;
    }
  }
  return texts.map((text) => text.trim());
}

function sameText(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
