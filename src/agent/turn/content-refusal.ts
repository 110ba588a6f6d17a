import type { ModelError, ModelName } from '../../providers/provider.ts';
import type { CallRecord, EntryDraft, EntryOf, MessageEntry, TapeEntry } from '../../session/entry.ts';
import { partPlaces, refusedIn, type Refused, type RefusedPart } from '../../session/refused-content.ts';
import { hashOfText } from '../../storage/prompt-parts.ts';

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
  const open = openTrial(facts.entries);
  switch (open?.trial?.stage) {
    case undefined:
    case 'kind': {
      const kinds = kindsIn(facts);
      const next = kinds[kinds.findIndex(({ key }) => key === open?.trial?.suspects[0]) + 1];
      if (next !== undefined) return trial(facts, 'kind', [next], 1);
      const suspects = suspectsIn(facts);
      return suspects.length === 0 ? null : trial(facts, 'all', suspects, suspects.length);
    }
    case 'all':
      return null;
    case 'half': {
      const rest = open?.trial?.suspects.slice(open.trial.tried) ?? [];
      return rest.length === 0 ? wholeAgain(facts) : narrowed(facts, rest);
    }
  }
}

/** The next, narrower trial after an accepted one. Null if the answer stands. */
export function afterAcceptance(facts: RefusalFacts): EntryDraft | null {
  const { trial: open } = openTrial(facts.entries) ?? {};
  if (open === undefined || open.stage === 'kind' || open.tried === 1) return null;
  if (trialsOf(facts.entries) >= MOST_TRIALS) return null;
  const isWhole = open.tried === open.suspects.length;
  if (isWhole && (open.stage === 'half' || hasStage(facts.entries, 'half'))) return null;
  return narrowed(facts, open.suspects.slice(0, open.tried));
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
  return [open.stage === 'half' ? retract(facts, unitsNamed(facts, open.suspects)) : retractOwn(facts)];
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

function trial(
  facts: RefusalFacts,
  stage: 'kind' | 'all' | 'half',
  suspects: readonly Unit[],
  tried: number,
): EntryDraft {
  const draft = retract(facts, suspects.slice(0, tried));
  const keys = suspects.map(({ key }) => key);
  return { ...draft, refused: { ...draft.refused, trial: { stage, suspects: keys, tried } } };
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

/** Leaves out half of the suspects; all of them when no further call may follow. */
function narrowed(facts: RefusalFacts, keys: readonly string[]): EntryDraft {
  const suspects = unitsNamed(facts, keys);
  const isLast = trialsOf(facts.entries) >= MOST_TRIALS - 1;
  return trial(facts, 'half', suspects, isLast ? suspects.length : Math.ceil(suspects.length / 2));
}

/** Several suspects together are the cause: leaves out all that were accepted together. */
function wholeAgain(facts: RefusalFacts): EntryDraft | null {
  const all = facts.entries.findLast((entry) => entry.kind === 'retract' && entry.refused?.trial?.stage === 'all');
  const keys = all?.kind === 'retract' ? (all.refused?.trial?.suspects ?? []) : [];
  return keys.length === 0 ? null : trial(facts, 'all', unitsNamed(facts, keys), keys.length);
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
    ...suspicious.map((layer) => ({ key: `layer:${layer.name}:${layer.hash}`, parts: [], layers: [layer] })),
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

function hasStage(entries: readonly TapeEntry[], stage: string): boolean {
  return entries.some((entry) => entry.kind === 'retract' && entry.refused?.trial?.stage === stage);
}
