import type { ModelError, ModelName } from '../../providers/provider.ts';
import type { CallRecord, EntryDraft, EntryOf, MessageEntry, TapeEntry } from '../../session/entry.ts';
import { partPlaces, refusedIn, type Refused, type RefusedPart } from '../../session/refused-content.ts';
import { hashOfText } from '../../storage/prompt-parts.ts';
import { leftOutOf, nextTrial, type Trial } from '../refused-search.ts';

/** A layer of the system prompt, as in `PromptLayer`. */
interface NamedLayer {
  readonly name: string;
  readonly text: string;
}

/** What is known when a provider refused a request, or accepted one with something left out. */
export interface RefusalFacts {
  readonly turnId: string;
  /** The turn's entries, oldest first. */
  readonly entries: readonly TapeEntry[];
  /** The entries of the session's history window. */
  readonly window: readonly TapeEntry[];
  /** The layers of the turn's system prompt. */
  readonly layers: readonly NamedLayer[];
  /** The model that was asked. */
  readonly model: ModelName;
}

/** Something that can be left out of a request as a whole. */
interface Unit {
  readonly key: string;
  readonly parts: Refused['parts'];
  readonly layers: Refused['layers'];
}

/** Extra model calls that one turn may make to find what was refused. */
const MOST_TRIALS = 6;

/** Left out one after the other, before anything else is suspected. */
const KINDS: readonly RefusedPart[] = ['images', 'documents', 'result', 'skills'];

const LAYER = 'layer:';

/** Layers in the order of suspicion. The identity layer is the program's own text and always stays. */
const LAYERS = ['memory', 'skills', 'active skills', 'files', 'program'];

/**
 * Whether an error means that the content of the request was refused. A 400 or 422 that nothing else explains counts too,
 * if this model accepted an earlier request of the conversation: what was added since must be the cause.
 */
export function isAboutContent(error: ModelError, { window, model }: RefusalFacts): boolean {
  if (error.kind === 'refusal' || error.about === 'image') return true;
  const isUnexplained = error.kind === 'bad-request' && error.about === undefined;
  return isUnexplained && (error.status === 400 || error.status === 422) && acceptedAt(window, model) !== -1;
}

/** The next trial after a refusal: a `retract` of what to leave out. Null if the cause can't be found. */
export function afterRefusal(facts: RefusalFacts): EntryDraft | null {
  if (trialsOf(facts.entries) >= MOST_TRIALS) return null;
  const open = openTrial(facts.entries)?.trial;
  if (open !== undefined && open.stage !== 'kind') return narrowed(facts, { ...open, stage: open.stage }, false);
  const kinds = kindsIn(facts);
  const next = kinds[kinds.findIndex(({ key }) => key === open?.suspects[0]) + 1];
  if (next !== undefined) return trial(facts, [next], { stage: 'kind', suspects: [next.key], tried: 1 });
  const suspects = suspectsIn(facts).map(({ key }) => key);
  if (suspects.length === 0) return null;
  const tried = layersOf(suspects) || suspects.length;
  return searched(facts, { stage: tried === suspects.length ? 'all' : 'half', suspects, tried });
}

/** The next, narrower trial after an accepted one. Null if the answer stands. */
export function afterAcceptance(facts: RefusalFacts): EntryDraft | null {
  const open = openTrial(facts.entries)?.trial;
  if (open === undefined || open.stage === 'kind' || trialsOf(facts.entries) >= MOST_TRIALS) return null;
  return narrowed(facts, { ...open, stage: open.stage }, true);
}

/** A `retract` of what the turn added since the model's last answer, when the cause was not found. */
export function retractOwn(facts: RefusalFacts): EntryDraft {
  const parts = freshMessages(facts.entries).map(({ id, role }) => ({
    entry: id,
    what: role === 'tool' ? ('result' as const) : ('message' as const),
  }));
  return retract(facts, [{ key: 'own', parts, layers: [] }]);
}

/**
 * Ends a search that cannot go on, because of a budget, a stop or an error: leaves out the suspects without which a request
 * was accepted, else what the turn added. Empty: no search is open.
 */
export function endSearch(facts: RefusalFacts): readonly EntryDraft[] {
  const { trial: open } = openTrial(facts.entries) ?? {};
  if (open === undefined) return [];
  if (open.isProven !== true) return [retractOwn(facts)];
  return [retract(facts, unitsNamed(facts, [...(open.held ?? []), ...open.suspects]))];
}

/** The trial whose request has no accepted answer yet. */
function openTrial(entries: readonly TapeEntry[]): Refused | undefined {
  const at = lastAnswer(entries);
  const refused = entries.findLast((entry, index) => index > at && isRefusal(entry));
  return refused?.kind === 'retract' && refused.refused?.trial !== undefined ? refused.refused : undefined;
}

/** What the turn left out because a provider refused it; undefined: nothing. */
export function refusedOf(entries: readonly TapeEntry[]): Refused | undefined {
  return refusedIn(entries).at(-1);
}

function trial(facts: RefusalFacts, units: readonly Unit[], open: NonNullable<Refused['trial']>): EntryDraft {
  const draft = retract(facts, units);
  return { ...draft, refused: { ...draft.refused, trial: open } };
}

function retract(facts: RefusalFacts, units: readonly Unit[]): EntryOfDraft {
  // What was found before the model's last answer in this turn stays left out.
  const before = refusedOf(facts.entries.slice(0, lastAnswer(facts.entries) + 1));
  return {
    kind: 'retract',
    turn: facts.turnId,
    turns: [],
    refused: {
      model: `${facts.model.provider}/${facts.model.model}`,
      parts: [...(before?.parts ?? []), ...units.flatMap(({ parts }) => parts)],
      layers: [...(before?.layers ?? []), ...units.flatMap(({ layers }) => layers)],
    },
  };
}

type EntryOfDraft = Omit<EntryOf<'retract'>, 'v' | 'id' | 'at' | 'refused'> & { refused: Refused };

function searched(facts: RefusalFacts, next: Trial<string>): EntryDraft {
  const { held = [], isProven = false, ...rest } = next;
  return trial(facts, unitsNamed(facts, leftOutOf(next)), {
    ...rest,
    suspects: [...rest.suspects],
    ...(held.length === 0 ? {} : { held: [...held] }),
    ...(isProven ? { isProven } : {}),
  });
}

function narrowed(facts: RefusalFacts, open: Trial<string>, isAccepted: boolean): EntryDraft | null {
  const isLast = trialsOf(facts.entries) >= MOST_TRIALS - 1;
  const first = (suspects: readonly string[]): number => layersOf(suspects) || Math.ceil(suspects.length / 2);
  const next = nextTrial(open, { isAccepted, isLast, isSingle: false, first });
  return next === null ? null : searched(facts, next);
}

/** How many layers come before earlier turns, which are tried apart from them; 0: there is only one of both kinds. */
function layersOf(suspects: readonly string[]): number {
  const layers = suspects.filter((key) => key.startsWith(LAYER)).length;
  return layers === suspects.length ? 0 : layers;
}

function unitsNamed(facts: RefusalFacts, keys: readonly string[]): readonly Unit[] {
  const known = new Map(suspectsIn(facts).map((unit) => [unit.key, unit]));
  return keys.flatMap((key) => known.get(key) ?? []);
}

/** The images, documents, tool results and skills that the model has not accepted yet, by kind. */
function kindsIn({ entries }: RefusalFacts): readonly Unit[] {
  const fresh = freshMessages(entries);
  return KINDS.flatMap((what) => {
    const parts = fresh.filter((entry) => hasPart(entry, what)).map(({ id }) => ({ entry: id, what }));
    return parts.length === 0 ? [] : [{ key: what, parts, layers: [] }];
  });
}

function hasPart(entry: MessageEntry, what: RefusedPart): boolean {
  if (entry.role === 'user') return partPlaces(entry).includes(what);
  return entry.role === 'tool' && (what === 'result' || (what === 'images' && entry.images !== undefined));
}

/** What may be the cause beside the turn's own messages: layers and earlier turns that this model has not accepted. */
function suspectsIn(facts: RefusalFacts): readonly Unit[] {
  const { window, layers, model, turnId } = facts;
  const at = acceptedAt(window, model);
  const isProven = at !== -1 && !window.slice(at).some((entry) => isGivenUp(entry, turnId));
  const accepted = new Set(isProven ? acceptedLayers(window, at) : []);
  const leftOut = new Set(
    refusedIn(window.filter((entry) => entry.turn !== turnId)).flatMap((refused) =>
      refused.layers.map(({ hash }) => hash),
    ),
  );
  const suspicious = layers
    .filter(({ name }) => name !== 'identity')
    .map(({ name, text }) => ({ name, hash: hashOfText(text) }))
    .filter(({ hash }) => !accepted.has(hash) && !leftOut.has(hash))
    .toSorted((a, b) => LAYERS.indexOf(a.name) - LAYERS.indexOf(b.name));
  const earlier = new Map<string, Refused['parts']>();
  for (const entry of window.slice(isProven ? at + 1 : 0)) {
    if (entry.kind !== 'message' || entry.turn === null || entry.turn === turnId) continue;
    const what = entry.role === 'tool' ? 'result' : 'message';
    earlier.set(entry.turn, [...(earlier.get(entry.turn) ?? []), { entry: entry.id, what }]);
  }
  return [
    ...suspicious.map((layer) => ({ key: `${LAYER}${layer.name}:${layer.hash}`, parts: [], layers: [layer] })),
    ...[...earlier].reverse().map(([turn, parts]) => ({ key: `turn:${turn}`, parts, layers: [] })),
  ];
}

/** Index of the model's newest answer in the window; -1: it has none. */
function acceptedAt(window: readonly TapeEntry[], { provider, model }: ModelName): number {
  return window.findLastIndex(
    (entry) =>
      entry.kind === 'message' &&
      entry.role === 'assistant' &&
      entry.stopReason !== 'refusal' &&
      entry.provider === provider &&
      entry.model === model,
  );
}

function acceptedLayers(window: readonly TapeEntry[], at: number): readonly string[] {
  const note = window.slice(0, at).findLast((entry) => entry.kind === 'note' && entry.call !== undefined);
  const call: CallRecord | undefined = note?.kind === 'note' ? note.call : undefined;
  return call?.layers ?? [];
}

/** The search of an earlier turn found no cause, so nothing is sure any more. */
function isGivenUp(entry: TapeEntry, turnId: string): boolean {
  return (
    entry.kind === 'retract' &&
    entry.turn !== turnId &&
    entry.refused !== undefined &&
    entry.refused.trial === undefined
  );
}

function isRefusal(entry: TapeEntry): boolean {
  return entry.kind === 'retract' && entry.refused !== undefined;
}

function lastAnswer(entries: readonly TapeEntry[]): number {
  return entries.findLastIndex((entry) => entry.kind === 'message' && entry.role === 'assistant');
}

function freshMessages(entries: readonly TapeEntry[]): readonly MessageEntry[] {
  return entries.slice(lastAnswer(entries) + 1).filter((entry) => entry.kind === 'message');
}

function trialsOf(entries: readonly TapeEntry[]): number {
  return entries.filter((entry) => entry.kind === 'retract' && entry.refused?.trial !== undefined).length;
}
