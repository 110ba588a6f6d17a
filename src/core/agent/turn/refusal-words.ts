import type { TapeEntry } from '../../session/entry.ts';
import { isSuspected, type Refused, type RefusedPart } from '../../session/refused-content.ts';
import { plural } from '../../util/text.ts';
import { BOOTSTRAP_FILES } from '../prompt/layers.ts';
import { refusedOf } from './content-refusal.ts';

const PARTS: Readonly<Record<Exclude<RefusedPart, 'result' | 'message'>, string>> = {
  images: 'an image',
  documents: 'a document',
  skills: 'the text of a skill',
  others: 'what others wrote',
  summary: 'the summary of the earlier conversation',
};

const LAYERS: Readonly<Record<string, string>> = {
  memory: 'MEMORY.md',
  'active skills': 'the skills that are always active',
  skills: 'the list of skills',
  program: 'the instructions of the program',
};

/** Closes the sentence of a turn that failed because of refused content. */
export const OWN_LEFT_OUT = 'Your message and what came with it are left out of later requests; /retry sends it again.';

/** What the turn left out of its requests, for the end of its answer; '' for nothing. `named`: the reader may see names of files. */
export function refusalNote(entries: readonly TapeEntry[], { named }: { readonly named: boolean }): string {
  const refused = refusedOf(entries);
  if (refused === undefined) return backNote(entries, named);
  const what = whatOf(refused, entries, named);
  if (isSuspected(refused))
    return `${refused.model} refused the request because of something in ${what}. I left all of that out of this request. With your next messages I look for the cause, and the rest comes back.`;
  return `${refused.model} refused the request because of ${what}. I left that out of this request and will leave it out of later ones.`;
}

/** What came back of what an earlier turn had left out; '' for nothing. */
function backNote(entries: readonly TapeEntry[], named: boolean): string {
  const trials = entries.flatMap((entry) => (entry.kind === 'retract' ? (entry.refused ?? []) : []));
  const [first, last] = [trials[0], trials.at(-1)];
  if (last?.search === undefined || last.trial === undefined) return '';
  const { held = [], tried } = last.trial;
  if (held.length + tried === 0)
    return `${last.model} accepts again what I had left out, so nothing is missing any more.`;
  if (held.length + tried >= (first?.trial?.suspects.length ?? 0)) return '';
  return `Of what ${last.model} refused, only ${whatOf(last, entries, named)} stays left out. The rest is back.`;
}

/** The layers of the system prompt that the turn left out, in words; '' for none. */
export function refusedLayers(entries: readonly TapeEntry[]): string {
  const { layers = [] } = refusedOf(entries) ?? {};
  return layers.map(({ name }) => layerName(name)).join(' and ');
}

function whatOf({ parts, layers }: Refused, entries: readonly TapeEntry[], named: boolean): string {
  const own = new Map(entries.map((entry) => [entry.id, entry]));
  const earlier = parts.filter(({ entry, what }) => (what === 'result' || what === 'message') && !own.has(entry));
  const words = parts.map(({ entry, what }) => {
    if (what !== 'result' && what !== 'message') return PARTS[what];
    const of = own.get(entry);
    if (of?.kind !== 'message') return `${plural(earlier.length, 'earlier message')} of the conversation`;
    if (of.role === 'tool') return `the result of \`${of.name}\``;
    return of.role === 'user' ? 'your message' : 'something that I wrote';
  });
  const files = layers.map(({ name }) => (named ? layerName(name) : 'a part of my instructions'));
  return [...new Set([...words, ...files])].join(' and ');
}

function layerName(name: string): string {
  return LAYERS[name] ?? (BOOTSTRAP_FILES.some((file) => file === name) ? name : 'a part of the system prompt');
}
