import type { EntryOf, MessageEntry, TapeEntry } from './entry.ts';

export type Refused = NonNullable<EntryOf<'retract'>['refused']>;
export type RefusedPart = Refused['parts'][number]['what'];

type Content = Extract<MessageEntry, { role: 'user' }>['content'][number];

const LEFT_OUT: Readonly<Record<RefusedPart, string>> = {
  images: '[An image, left out because the provider refused it.]',
  documents: '[A document, left out because the provider refused it.]',
  skills: '[The text of a skill, left out because the provider refused it.]',
  result: '[This result was left out, because the provider refused its content.]',
  message: '[This message was left out, because the provider refused its content.]',
};

/**
 * What providers refused. The newest `retract` of a turn replaces the turn's earlier ones, so that a trial of what to leave
 * out is undone by the next one.
 */
export function refusedIn(entries: readonly TapeEntry[]): readonly Refused[] {
  const byTurn = new Map<string, Refused>();
  for (const entry of entries) {
    if (entry.kind === 'retract' && entry.refused !== undefined) byTurn.set(entry.turn ?? entry.id, entry.refused);
  }
  return [...byTurn.values()];
}

/** The refused parts of each entry, by its id. */
export function partsByEntry(refused: readonly Refused[]): ReadonlyMap<string, ReadonlySet<RefusedPart>> {
  const parts = new Map<string, Set<RefusedPart>>();
  for (const { entry, what } of refused.flatMap(({ parts: list }) => list)) {
    parts.set(entry, (parts.get(entry) ?? new Set()).add(what));
  }
  return parts;
}

/** The message with a short text in place of each refused part. */
export function withoutRefused(entry: TapeEntry, parts: ReadonlyMap<string, ReadonlySet<RefusedPart>>): TapeEntry {
  const refused = parts.get(entry.id);
  if (refused === undefined || entry.kind !== 'message') return entry;
  switch (entry.role) {
    case 'user':
      return { ...entry, content: userContent(entry, refused) };
    case 'tool': {
      const { images, ...rest } = entry;
      if (refused.has('result') || refused.has('message')) return { ...rest, output: LEFT_OUT.result };
      return refused.has('images') && images !== undefined
        ? { ...rest, output: `${entry.output}\n${LEFT_OUT.images}` }
        : entry;
    }
    case 'assistant': {
      const content = entry.content.flatMap((part) =>
        part.type === 'tool-call' ? [{ ...part, arguments: '{}' }] : [],
      );
      return { ...entry, content: [{ type: 'text', text: LEFT_OUT.message }, ...content] };
    }
  }
}

function userContent(
  { content, skills = [] }: Extract<MessageEntry, { role: 'user' }>,
  refused: ReadonlySet<RefusedPart>,
): Content[] {
  if (refused.has('message')) return [{ type: 'text', text: LEFT_OUT.message }];
  const places = partPlaces({ content, skills });
  return content.map((part, at): Content => {
    const what = places[at];
    return what !== undefined && refused.has(what) ? { type: 'text', text: LEFT_OUT[what] } : part;
  });
}

/** Which kind each part of a user message is; undefined: what the person wrote, or the context block. */
export function partPlaces({
  content,
  skills = [],
}: Pick<Extract<MessageEntry, { role: 'user' }>, 'content' | 'skills'>): readonly (RefusedPart | undefined)[] {
  const lastOwn = content.length - skills.length;
  const texts = content.flatMap(({ type }, at) => (type === 'text' ? [at] : []));
  return content.map((part, at) => {
    if (part.type === 'image') return 'images';
    if (at >= lastOwn) return 'skills';
    // The context block comes first, then the person's own text. Both precede the documents.
    return texts.indexOf(at) >= 2 ? 'documents' : undefined;
  });
}
