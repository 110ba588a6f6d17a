import { refusesContent } from '../../providers/content-refusals.ts';
import type { ModelError, ModelName } from '../../providers/provider.ts';
import type { EntryDraft, EntryOf, MessageEntry, TapeEntry } from '../../session/entry.ts';
import { isCallNote } from '../../session/turns.ts';
import { placesIn, refusedBySearch, refusedIn, type Refused, type RefusedPart } from '../../session/refused-content.ts';
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
  /** Id of the entry with the summary that the window begins with; null: it has none. */
  readonly summary: string | null;
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

interface OpenSearch {
  /** Id of the turn that began it. */
  readonly search: string;
  /** What is left out. */
  readonly units: readonly Unit[];
}

type RefusalEntry = EntryOf<'retract'> & { readonly refused: Refused };

/** Extra model calls that one turn may make to find what was refused. */
const MOST_TRIALS = 6;

/** What a message can do without, in the order of suspicion. */
const KINDS: readonly RefusedPart[] = ['images', 'documents', 'result', 'skills', 'others'];

/** Layers in the order of suspicion. The identity layer is the program's own text and always stays. */
const LAYERS = ['memory', 'skills', 'active skills', 'USER.md', 'TOOLS.md', 'SOUL.md', 'AGENTS.md', 'program'];

/**
 * The next trial after an error: a `retract` of what to leave out. What nothing explains is first asked again as it was,
 * because it may have passed. Null: the error isn't about content, or the cause can't be found.
 */
export function afterError(error: ModelError, facts: RefusalFacts): EntryDraft | null {
  const trials = trialsOf(facts.entries);
  const refuses = refusesContent(error);
  if (trials >= MOST_TRIALS || refuses === 'no') return null;
  const refused = openTrial(facts.entries);
  const open = refused?.trial;
  const isBrief = refuses === 'perhaps' && hasFailedTwice(facts);
  if (open === undefined && refuses === 'perhaps' && !isBrief)
    return trial(facts, { stage: 'again', suspects: [], tried: 0 });
  if (open?.stage === 'found') return null;
  if (open?.stage === 'control') {
    const { suspects } = open;
    const found = { stage: 'found', suspects, tried: suspects.length, isProven: true } as const;
    return trial(facts, found, refused?.search);
  }
  if (open?.stage === 'half' || open?.stage === 'rest')
    return narrowed(facts, { ...open, stage: open.stage }, { isAccepted: false, search: refused?.search });
  const { groups, rest } = groupsOf(facts);
  // Several causes in different groups are found last, with everything left out; so is what was accepted before.
  const whole = [...groups.flat(), ...rest];
  const isWhole = groups.length === 1 && rest.length === 0;
  const all = (isBrief ? [whole] : isWhole ? groups : [...groups, whole]).filter(({ length }) => length > 0);
  const tried = all.findIndex((group) => group.length === open?.tried && group[0]?.key === open.suspects[0]);
  const group = trials === MOST_TRIALS - 1 && tried < all.length - 1 ? all.at(-1) : all[tried + 1];
  if (group === undefined) return null;
  return trial(facts, { stage: 'all', suspects: group.map(({ key }) => key), tried: group.length });
}

/**
 * The next trial after an accepted one: a narrower one, then the whole request once more if nothing explained the error,
 * because that may have passed meanwhile. What an earlier turn left out on suspicion is narrowed down in the same way, as
 * soon as a request without it was accepted. Null if the answer stands.
 */
export function afterAcceptance(facts: RefusalFacts): EntryDraft | null {
  const { trial: open, search } = openTrial(facts.entries) ?? {};
  const trials = trialsOf(facts.entries);
  if (open === undefined) return trials > 0 ? null : goOn(facts);
  if (!isNarrowing(open) || trials >= MOST_TRIALS) return null;
  const narrower = narrowed(facts, open, { isAccepted: true, search });
  // If the whole is refused again, one more call gets the answer.
  if (narrower !== null || trials > MOST_TRIALS - 2) return narrower;
  if (search === undefined && !isUnexplained(facts.entries)) return null;
  return trial(facts, { stage: 'control', suspects: [...leftOutOf(open)], tried: 0 }, search);
}

/** Goes on with the search of an earlier turn. */
function goOn(facts: RefusalFacts): EntryDraft | null {
  const before = openSearch(facts);
  if (before === undefined) return null;
  const { search, units } = before;
  const suspects = units.map(({ key }) => key);
  if (suspects.length === 1) return trial(facts, { stage: 'control', suspects, tried: 0 }, search);
  return narrowed(facts, { stage: 'all', suspects, tried: suspects.length }, { isAccepted: true, search });
}

function isNarrowing(open: NonNullable<Refused['trial']>): open is typeof open & { stage: Trial<string>['stage'] } {
  return open.stage === 'all' || open.stage === 'half' || open.stage === 'rest';
}

/** Whether the search began with the same request again, because nothing explained the error. */
function isUnexplained(entries: readonly TapeEntry[]): boolean {
  return entries
    .slice(lastAnswer(entries) + 1)
    .some((entry) => isRefusal(entry) && entry.refused.trial?.stage === 'again');
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
 * was accepted, else nothing, and the search of the next turn begins with what this one added. Empty: no search is open.
 */
export function endSearch(facts: RefusalFacts): readonly EntryDraft[] {
  const { trial: open, search } = openTrial(facts.entries) ?? {};
  if (open === undefined) return [];
  const found = open.isProven === true ? [...(open.held ?? []), ...open.suspects] : [];
  if (search === undefined) return [retract(facts, unitsNamed(facts, found))];
  // The search of an earlier turn goes on in a later one.
  const suspects = found.length > 0 ? found : open.suspects;
  return [trial(facts, { stage: 'all', suspects: [...suspects], tried: suspects.length }, search)];
}

/** Whether the next request is a trial, which another model need not answer. */
export function isTrial(entries: readonly TapeEntry[]): boolean {
  return openTrial(entries) !== undefined;
}

/** Whether the newest answer before this turn was cut short by a refusal, and no search for the cause has failed since. */
export function endsInRefusal(window: readonly TapeEntry[], turnId: string): boolean {
  const at = window.findLastIndex(
    (entry) => entry.kind === 'message' && entry.role === 'assistant' && entry.turn !== turnId,
  );
  const last = window[at];
  const isCut = last?.kind === 'message' && last.role === 'assistant' && last.stopReason === 'refusal';
  return isCut && !window.slice(at + 1).some((entry) => isGivenUp(entry, turnId));
}

/** The trial whose request has no accepted answer yet. */
function openTrial(entries: readonly TapeEntry[]): Refused | undefined {
  const at = lastAnswer(entries);
  const refused = entries.findLast((entry, index) => index > at && isRefusal(entry));
  return refused !== undefined && isRefusal(refused) && refused.refused.trial !== undefined
    ? refused.refused
    : undefined;
}

/** What the turn left out because a provider refused it; undefined: nothing. */
export function refusedOf(entries: readonly TapeEntry[]): Refused | undefined {
  const refused = refusedIn(entries.filter((entry) => isRefusal(entry) && entry.refused.search === undefined)).at(-1);
  return refused === undefined || refused.parts.length + refused.layers.length === 0 ? undefined : refused;
}

function trial(facts: RefusalFacts, open: NonNullable<Refused['trial']>, search?: string): EntryDraft {
  const isWhole = open.stage === 'again' || open.stage === 'control';
  const units = isWhole ? [] : unitsNamed(facts, [...(open.held ?? []), ...open.suspects.slice(0, open.tried)], search);
  const draft = retract(facts, units, search);
  return { ...draft, refused: { ...draft.refused, trial: open } };
}

function retract(facts: RefusalFacts, units: readonly Unit[], search?: string): EntryOfDraft {
  // What was found before the model's last answer in this turn stays left out.
  const own = facts.entries.slice(0, lastAnswer(facts.entries) + 1);
  const before = search === undefined ? refusedOf(own) : undefined;
  return {
    kind: 'retract',
    turn: facts.turnId,
    turns: [],
    refused: {
      model: `${facts.model.provider}/${facts.model.model}`,
      parts: [...(before?.parts ?? []), ...units.flatMap(({ parts }) => parts)],
      layers: [...(before?.layers ?? []), ...units.flatMap(({ layers }) => layers)],
      ...(search === undefined ? {} : { search }),
    },
  };
}

type EntryOfDraft = Omit<EntryOf<'retract'>, 'v' | 'id' | 'at' | 'refused'> & { refused: Refused };

function narrowed(
  facts: RefusalFacts,
  open: Trial<string>,
  { isAccepted, search }: { readonly isAccepted: boolean; readonly search: string | undefined },
): EntryDraft | null {
  const isLast = trialsOf(facts.entries) >= MOST_TRIALS - 1;
  // The last trial is kept for a refusal.
  if (isLast && isAccepted) return null;
  const first = (suspects: readonly string[]): number => Math.ceil(suspects.length / 2);
  const step = { isAccepted, isLast, isSingle: false, first };
  const others = isAccepted ? (open.held ?? []) : [];
  // Once one cause is found, the search goes on among what was held because of another one.
  const next =
    nextTrial(open, step) ??
    (others.length < 2
      ? null
      : nextTrial(
          { stage: 'all', suspects: others, tried: others.length, held: open.suspects.slice(0, open.tried) },
          step,
        ));
  if (next === null) return null;
  const { held = [], isProven = false, ...rest } = next;
  const more = {
    ...(held.length === 0 ? {} : { held: [...held] }),
    ...(isProven ? { isProven } : {}),
  };
  return trial(facts, { ...rest, suspects: [...rest.suspects], ...more }, search);
}

function unitsNamed(facts: RefusalFacts, keys: readonly string[], search?: string): readonly Unit[] {
  const { groups, rest } = groupsOf(facts);
  const units = search === undefined ? [...groups.flat(), ...rest] : (openSearch(facts)?.units ?? []);
  const known = new Map(units.map((unit) => [unit.key, unit]));
  return keys.flatMap((key) => known.get(key) ?? []);
}

/**
 * The newest search of earlier turns that left out more than the cause, as what can come back. Undefined: none, or going on
 * with it brought nothing back.
 */
function openSearch({ window, layers, model, turnId }: RefusalFacts): OpenSearch | undefined {
  const name = `${model.provider}/${model.model}`;
  const earlier = window.filter(isRefusal).filter(({ turn }) => turn !== turnId);
  const [search, refused] = [...refusedBySearch(earlier)].findLast(([, { model: by }]) => by === name) ?? [];
  if (search === undefined || refused?.trial === undefined || !isNarrowing(refused.trial)) return undefined;
  const turnOf = new Map(window.map((entry) => [entry.id, entry.turn]));
  const whole = new Set(refused.parts.flatMap(({ entry, what }) => (what === 'message' ? [turnOf.get(entry)] : [])));
  const parts = Map.groupBy(
    refused.parts.filter(({ entry }) => turnOf.has(entry)),
    ({ entry, what, at = '' }) =>
      whole.has(turnOf.get(entry)) ? `turn:${turnOf.get(entry)}` : `${what}:${entry}:${at}`,
  );
  const current = new Set(layers.map(({ text }) => hashOfText(text)));
  const units = [
    ...[...parts].map(([key, some]) => ({ key, parts: some, layers: [] })),
    ...refused.layers
      .filter(({ hash }) => current.has(hash))
      .map((layer) => ({ key: `layer:${layer.hash}`, parts: [], layers: [layer] })),
  ];
  const isFound = refused.search === undefined ? leftOutOf(refused.trial).length < 2 : broughtNothing(earlier, search);
  return isFound || units.length === 0 ? undefined : { search, units };
}

/** Whether the newest turn that went on with the search left out as much as the turn before it. */
function broughtNothing(earlier: readonly RefusalEntry[], search: string): boolean {
  const trials = earlier.filter(({ turn, refused }) => (refused.search ?? turn) === search);
  const last = trials.at(-1);
  const before = trials.findLast(({ turn }) => turn !== last?.turn);
  const size = (entry?: RefusalEntry): number =>
    (entry?.refused.parts.length ?? 0) + (entry?.refused.layers.length ?? 0);
  return last?.refused.trial?.stage !== 'all' && size(last) > 1 && size(last) >= size(before);
}

/**
 * What may be the cause, in the order in which it is tried: what the turn's new messages can do without, by kind; what
 * the model has not accepted since its last answer, with that answer; new layers; and what was accepted before, in `rest`.
 * That is a group, too, if nothing is sure.
 */
function groupsOf(facts: RefusalFacts): {
  readonly groups: readonly (readonly Unit[])[];
  readonly rest: readonly Unit[];
} {
  const { window, layers, model, turnId } = facts;
  const fresh = freshMessages(facts.entries);
  const kinds = KINDS.map((what) =>
    fresh.flatMap((entry) =>
      placesIn(entry)
        .filter((place) => place.what === what)
        .map(({ at }) => ({ key: `${what}:${entry.id}:${at}`, parts: [{ entry: entry.id, what, at }], layers: [] })),
    ),
  );
  const at = acceptedAt(window, model);
  const isSure = at !== -1 && !window.slice(at).some((entry) => isGivenUp(entry, turnId));
  const accepted = new Set(isSure ? acceptedLayers(window, at) : []);
  const leftOut = new Set(
    refusedIn(window.filter((entry) => entry.turn !== turnId)).flatMap((refused) =>
      refused.layers.map(({ hash }) => hash),
    ),
  );
  const named = layers
    .filter(({ name }) => name !== 'identity')
    .map(({ name, text }) => ({ name, hash: hashOfText(text) }))
    .filter(({ hash }) => !leftOut.has(hash))
    .toSorted((a, b) => LAYERS.indexOf(a.name) - LAYERS.indexOf(b.name))
    .map((layer) => ({ key: `layer:${layer.hash}`, parts: [], layers: [layer] }));
  const [known, suspicious] = [true, false].map((is) =>
    named.filter(({ layers: own }) => own.every(({ hash }) => accepted.has(hash)) === is),
  );
  const recent = unitsOf(window.slice(Math.max(at, 0)), facts);
  const older = unitsOf(window.slice(0, Math.max(at, 0)), facts);
  const groups = [...kinds, recent, suspicious ?? [], isSure ? [] : older].filter((group) => group.length > 0);
  return { groups, rest: isSure ? [...older, ...(known ?? [])] : [] };
}

/** What was said, by turns, newest first, without what is new in this turn; and the summary if it was made there. */
function unitsOf(entries: readonly TapeEntry[], { entries: own, summary }: RefusalFacts): readonly Unit[] {
  const fresh = new Set(freshMessages(own).map(({ id }) => id));
  const units = new Map<string, Refused['parts']>();
  for (const entry of entries) {
    if (entry.id === summary) units.set('summary', [{ entry: entry.id, what: 'summary' }]);
    if (entry.kind !== 'message' || entry.turn === null || fresh.has(entry.id)) continue;
    const what = entry.role === 'tool' ? 'result' : 'message';
    units.set(entry.turn, [...(units.get(entry.turn) ?? []), { entry: entry.id, what }]);
  }
  return [...units].reverse().map(([turn, parts]) => ({ key: `turn:${turn}:${parts[0]?.entry}`, parts, layers: [] }));
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
  return window.slice(0, at).findLast(isCallNote)?.call.layers ?? [];
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

/**
 * Two searches in a row found nothing: the cause may be the configuration, so the next search begins with a request without
 * all that it may leave out, and ends there if that is refused, too.
 */
function hasFailedTwice({ window, model, turnId }: RefusalFacts): boolean {
  const name = `${model.provider}/${model.model}`;
  const givenUp = window
    .slice(acceptedAt(window, model) + 1)
    .filter((entry) => isGivenUp(entry, turnId) && isRefusal(entry) && entry.refused.model === name);
  return new Set(givenUp.map(({ turn }) => turn)).size >= 2;
}

function isRefusal(entry: TapeEntry): entry is RefusalEntry {
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
