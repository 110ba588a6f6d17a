import type { AssistantEntry, EntryOf, TapeEntry } from '../../session/entry.ts';
import { turnOf } from '../../session/turns.ts';

/** A text between tool calls is sent as a message of its own if it has at least this many characters. */
const PART_MIN = 300;

/**
 * The texts that a turn sends: `answer` is the last non-empty text, `parts` are earlier long ones, oldest first. Texts that
 * the turn sent with the message tool are left out.
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

/** All texts of a turn that has ended, oldest first: the newest one as people get it, or what they saw of it. */
export function textsOfEnded(entries: readonly TapeEntry[], end: EntryOf<'turn-end'>): readonly string[] {
  const texts = joinedTexts(entries).filter((text) => text !== '');
  const { outcome, answer, partial = '' } = end;
  if (outcome !== 'answered') return partial.trim() === '' ? texts : [...texts, partial.trim()];
  return answer.trim() === '' ? texts : [...texts.slice(0, -1), answer.trim()];
}

/** The beginning of an answer that the output limit cut off and that the model has to continue; '' when there is none. */
export function unfinishedText(entries: readonly TapeEntry[]): string {
  let text = '';
  for (const entry of entries) {
    if (entry.kind !== 'message') continue;
    if (entry.role === 'assistant') text = isCutOff(entry) ? text + textOf(entry) : '';
    if (entry.role === 'user' && entry.sources.length > 0) text = '';
  }
  return text;
}

/** Whether the model decided to send no answer, by a call that silences its turn. The tape shows the call with its reason. */
export function choseSilence(entries: readonly TapeEntry[]): boolean {
  return entries.some((entry) => entry.kind === 'message' && entry.role === 'tool' && entry.silences === true);
}

/** What models say that have nothing to say, in the words of several assistants whose skills are used here. */
const SILENCE =
  /^[^\p{L}\p{N}]*(?:(?:no[ _-]?reply|no[ _-]?response|heartbeat[ _-]?ok|silence|silent|nothing to report)[^\p{L}\p{N}]*)+$/iu;

/** Whether a text says no more than that there is nothing to say. */
export function saysNothing(text: string): boolean {
  return text.trim() === '' || SILENCE.test(text);
}

/** Whether the model asked for its answer to be spoken: `message` with `voice` and no text of its own. */
export function wantsVoice(entries: readonly TapeEntry[]): boolean {
  return doneCalls(entries, 'message').some(
    ({ voice, text, chat }) => voice === true && chat === undefined && typeof text === 'string' && text.trim() === '',
  );
}

/** Whether the output limit cut off this message and it has text, but no calls, that the model can continue. */
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

/** The arguments of a tool's successful calls, in order; calls whose arguments are no JSON object are left out. */
function doneCalls(entries: readonly TapeEntry[], tool: string): readonly Readonly<Record<string, unknown>>[] {
  return turnOf(entries).toolCalls.flatMap(({ asked, result }) =>
    result?.name === tool && !result.isError ? [fieldsOf(asked.arguments)] : [],
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

/** The text of one message of the model, without its reasoning. */
export function textOf(entry: AssistantEntry): string {
  return entry.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The texts of the turn, one per answer: a text that was cut off is joined with its continuations. */
function joinedTexts(entries: readonly TapeEntry[]): readonly string[] {
  const texts: string[] = [];
  let continues = false;
  for (const entry of entries) {
    if (entry.kind !== 'message') continue;
    if (entry.role === 'assistant') {
      const text = textOf(entry);
      if (continues) texts.push((texts.pop() ?? '') + text);
      else texts.push(text);
      continues = isCutOff(entry);
    } else if (entry.role === 'user' && entry.sources.length > 0) {
      continues = false;
    }
  }
  return texts.map((text) => text.trim());
}

function sameText(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
