import { createHash } from 'node:crypto';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';

/** The same call with the same result so often gets a warning. */
const WARN_AT = 3;
/** The same call with the same result so often ends the turn. */
const END_AT = 5;
const WARNING = '\n\n[You made this same call ';
/** Differs although nothing else does. */
const VOLATILE = / · durationMs=\d+/u;

type ToolEntry = Extract<EntryDraft, { kind: 'message'; role: 'tool' }>;

/**
 * A result about to be written down, with a warning to the model where it is the third or a later one of the same
 * tool with the same arguments and the same output. Calls that stand side by side in one message count once.
 */
export function withLoopWarning(draft: EntryDraft, entries: readonly TapeEntry[]): EntryDraft {
  if (draft.kind !== 'message' || draft.role !== 'tool') return draft;
  const times = countOf(draft, entries) + 1;
  if (times < WARN_AT) return draft;
  const advice = 'Repeating it will not help: do something else, or answer with what you know.';
  return { ...draft, output: `${draft.output}${WARNING}${times} times with the same result. ${advice}]` };
}

/** The sentence that ends a turn which goes in circles; null while it does not. */
export function endlessLoop(entries: readonly TapeEntry[]): string | null {
  const last = steps(entries).at(-1) ?? [];
  const endless = last.find((result) => countOf(result, entries) >= END_AT);
  if (endless === undefined) return null;
  return `I stopped because I was going in circles: I called \`${endless.name}\` ${END_AT} times with the same input and got the same result each time. Tell me how to go on, or put the task differently.`;
}

/** In how many steps of the turn the same call gave the same result. */
function countOf(draft: ToolEntry, entries: readonly TapeEntry[]): number {
  const calls = callsOf(entries);
  const same = identityOf(draft, calls);
  return steps(entries).filter((results) => results.some((other) => identityOf(other, calls) === same)).length;
}

/** Of each result, made once: looking at a turn costs nothing for what was looked at before. */
const identities = new WeakMap<ToolEntry, string>();

/** The same text for the same tool with the same arguments and the same output. */
function identityOf(result: ToolEntry, calls: ReadonlyMap<string, string>): string {
  const known = identities.get(result);
  if (known !== undefined) return known;
  const parts = [result.name, canonical(calls.get(result.callId) ?? ''), comparable(result.output)];
  const identity = createHash('sha256').update(parts.join('\0')).digest('base64');
  identities.set(result, identity);
  return identity;
}

/** The results on the tape, those of one assistant message together. */
function steps(entries: readonly TapeEntry[]): readonly (readonly ToolEntry[])[] {
  const all: ToolEntry[][] = [];
  for (const entry of entries) {
    if (entry.kind !== 'message') continue;
    if (entry.role === 'assistant') all.push([]);
    if (entry.role === 'tool') all.at(-1)?.push(entry);
  }
  return all;
}

/** The arguments of each call as the model wrote them. */
function callsOf(entries: readonly TapeEntry[]): ReadonlyMap<string, string> {
  const calls = new Map<string, string>();
  for (const entry of entries) {
    if (entry.kind !== 'message' || entry.role !== 'assistant') continue;
    for (const part of entry.content) if (part.type === 'tool-call') calls.set(part.callId, part.arguments);
  }
  return calls;
}

/** The same for arguments that differ only in the order of their keys or in white space. */
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
