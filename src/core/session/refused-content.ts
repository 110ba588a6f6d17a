import type { EntryOf, MessageEntry, TapeEntry, UserEntry } from './entry.ts';

export type Refused = NonNullable<EntryOf<'retract'>['refused']>;
export type RefusedPart = Refused['parts'][number]['what'];

/** Where a part is, as in `Refused`. */
type Place = Omit<Refused['parts'][number], 'entry'>;
type Content = UserEntry['content'][number];

const LEFT_OUT: Readonly<Record<RefusedPart, string>> = {
  images: '[An image, left out because the provider refused it.]',
  documents: '[A document, left out because the provider refused it.]',
  skills: '[The text of a skill, left out because the provider refused it.]',
  others: '[What others wrote, left out because the provider refused it.]',
  result: '[This result was left out, because the provider refused its content.]',
  message: '[This message was left out, because the provider refused its content.]',
  summary: '[The summary was left out, because the provider refused its content.]',
};

/** How a text begins that its sender did not write: a forwarded message, the result of a subagent. */
const FENCE = '<untrusted id=';
/** In a context block: the message that this one replies to, and those before it in a group. They come last. */
const OTHERS = /\n(?:in reply to |earlier in this chat:)[\s\S]*(?=\n<\/context>$)/u;

/**
 * What providers refused. The newest `retract` of a search replaces its earlier ones, so that a trial of what to leave out
 * is undone by the next one.
 */
export function refusedIn(entries: readonly TapeEntry[]): readonly Refused[] {
  return [...refusedBySearch(entries).values()];
}

/** What is left out in the end, by the turn that began to search for it. */
export function refusedBySearch(entries: readonly TapeEntry[]): ReadonlyMap<string, Refused> {
  const found = new Map<string, Refused>();
  for (const entry of entries) {
    if (entry.kind !== 'retract' || entry.refused === undefined) continue;
    found.set(entry.refused.search ?? entry.turn ?? entry.id, entry.refused);
  }
  return found;
}

/** Whether most of this is left out on suspicion alone, because the search for one cause is not at its end. */
export function isSuspected({ trial }: Refused): boolean {
  return trial !== undefined && trial.stage !== 'found' && trial.tried > 1 && trial.held === undefined;
}

/** The refused parts of each entry, by its id. */
export function partsByEntry(refused: readonly Refused[]): ReadonlyMap<string, readonly Place[]> {
  return Map.groupBy(
    refused.flatMap(({ parts }) => parts),
    ({ entry }) => entry,
  );
}

/** The summary of the entries before, with a short text in its place if it was refused. */
export function summaryWithoutRefused<Summary extends { readonly entryId: string; readonly text: string }>(
  summary: Summary | null,
  entries: readonly TapeEntry[],
): Summary | null {
  if (summary === null || !partsByEntry(refusedIn(entries)).has(summary.entryId)) return summary;
  return { ...summary, text: LEFT_OUT.summary };
}

/** The message with a short text in place of each refused part. */
export function withoutRefused(entry: TapeEntry, parts: ReadonlyMap<string, readonly Place[]>): TapeEntry {
  const refused = parts.get(entry.id);
  if (refused === undefined || entry.kind !== 'message') return entry;
  const isWhole = refused.some(({ what }) => what === 'message' || what === 'result');
  switch (entry.role) {
    case 'user':
      return { ...entry, content: isWhole ? [{ type: 'text', text: LEFT_OUT.message }] : userContent(entry, refused) };
    case 'tool': {
      const { images = [], ...rest } = entry;
      if (isWhole) return { ...rest, output: LEFT_OUT.result };
      const kept = images.filter((_, at) => !holds(refused, { what: 'images', at }));
      const lines = Array.from({ length: images.length - kept.length }, () => LEFT_OUT.images);
      return { ...entry, output: [entry.output, ...lines].join('\n'), images: kept };
    }
    case 'assistant': {
      const content = entry.content.flatMap((part) =>
        part.type === 'tool-call' ? [{ ...part, arguments: '{}' }] : [],
      );
      return { ...entry, content: [{ type: 'text', text: LEFT_OUT.message }, ...content] };
    }
  }
}

function userContent(entry: UserEntry, refused: readonly Place[]): Content[] {
  const content = [...entry.content];
  for (const { what, at } of userPlaces(entry)) {
    const part = content[at];
    if (part === undefined || !holds(refused, { what, at })) continue;
    const isBlock = what === 'others' && part.type === 'text' && OTHERS.test(part.text);
    const text = isBlock ? part.text.replace(OTHERS, `\n${LEFT_OUT.others}`) : LEFT_OUT[what];
    content[at] = { type: 'text', text };
  }
  return content;
}

function holds(refused: readonly Place[], { what, at }: Required<Place>): boolean {
  return refused.some((place) => place.what === what && (place.at ?? at) === at);
}

/** The parts that a message can do without. */
export function placesIn(entry: MessageEntry): readonly Required<Place>[] {
  switch (entry.role) {
    case 'user':
      return userPlaces(entry);
    case 'tool': {
      const images = (entry.images ?? []).map((_, at) => ({ what: 'images' as const, at }));
      return [...images, { what: 'result', at: 0 }];
    }
    case 'assistant':
      return [];
  }
}

function userPlaces({ content, skills = [] }: UserEntry): readonly Required<Place>[] {
  const lastOwn = content.length - skills.length;
  const texts = content.flatMap(({ type }, at) => (type === 'text' ? [at] : []));
  return content.flatMap((part, at): Required<Place>[] => {
    if (part.type === 'image') return [{ what: 'images', at }];
    if (at >= lastOwn) return [{ what: 'skills', at }];
    // The context block comes first, then the person's own text. Both precede the documents.
    if (texts.indexOf(at) >= 2) return [{ what: 'documents', at }];
    const isOthers = at === 0 ? OTHERS.test(part.text) : part.text.startsWith(FENCE);
    return isOthers ? [{ what: 'others', at }] : [];
  });
}
