import { createHash } from 'node:crypto';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { turnOf, type TapeTurn } from '../../session/turns.ts';

/** After this many equal calls with equal results the model gets a warning. */
const WARN_AT = 3;
/** After this many equal calls with equal results the turn ends. */
const END_AT = 5;
const WARNING = '\n\n[You made this same call ';
/** The part of a result that differs between equal calls. */
const VOLATILE = / · durationMs=\d+/u;

type ToolDraft = Extract<EntryDraft, { kind: 'message'; role: 'tool' }>;

/**
 * Adds a warning for the model to a tool result when it is the third or a later one of the same tool with the same
 * arguments and the same output. Equal calls in one message of the model count once.
 */
export function withLoopWarning(draft: EntryDraft, entries: readonly TapeEntry[]): EntryDraft {
  if (draft.kind !== 'message' || draft.role !== 'tool') return draft;
  const times = countOf(draft, turnOf(entries)) + 1;
  if (times < WARN_AT) return draft;
  const advice = 'Repeating it will not help: do something else, or answer with what you know.';
  return { ...draft, output: `${draft.output}${WARNING}${times} times with the same result. ${advice}]` };
}

/** The sentence for the person when a turn repeats the same call without end; null while it does not. */
export function endlessLoop(entries: readonly TapeEntry[]): string | null {
  const turn = turnOf(entries);
  const answered = turn.modelCalls.filter(({ answer }) => answer !== undefined).length;
  const last = turn.results.filter(({ answers }) => answers === answered);
  const endless = last.find(({ entry }) => countOf(entry, turn) >= END_AT);
  if (endless === undefined) return null;
  return `I stopped because I was going in circles: I called \`${endless.entry.name}\` ${END_AT} times with the same input and got the same result each time. Tell me how to go on, or put the task differently.`;
}

/** After how many answers of the model the same call gave the same result. */
function countOf(draft: ToolDraft, { toolCalls, results }: TapeTurn): number {
  const calls = new Map(toolCalls.map(({ asked }) => [asked.callId, asked.arguments]));
  const same = identityOf(draft, calls);
  const equal = results.filter(({ entry }) => identityOf(entry, calls) === same);
  return new Set(equal.map(({ answers }) => answers)).size;
}

/** Cache of `identityOf`. */
const identities = new WeakMap<ToolDraft, string>();

/** A key that is equal for results of the same tool with the same arguments and the same output. */
function identityOf(result: ToolDraft, calls: ReadonlyMap<string, string>): string {
  const known = identities.get(result);
  if (known !== undefined) return known;
  const parts = [result.name, canonical(calls.get(result.callId) ?? ''), comparable(result.output)];
  const identity = createHash('sha256').update(parts.join('\0')).digest('base64');
  identities.set(result, identity);
  return identity;
}

/** Arguments in one form: keys sorted, no white space; unchanged when they are no JSON. */
function canonical(json: string): string {
  try {
    const value: unknown = JSON.parse(json.trim() === '' ? '{}' : json);
    return JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'object' && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : item,
    );
  } catch {
    return json;
  }
}

function comparable(output: string): string {
  const warning = output.lastIndexOf(WARNING);
  return (warning < 0 ? output : output.slice(0, warning)).replace(VOLATILE, '');
}
