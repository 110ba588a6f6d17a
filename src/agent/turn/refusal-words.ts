import type { TapeEntry } from '../../session/entry.ts';
import type { Refused, RefusedPart } from '../../session/refused-content.ts';
import { refusedOf } from './content-refusal.ts';

const PARTS: Readonly<Record<Exclude<RefusedPart, 'result' | 'message'>, string>> = {
  images: 'the image',
  documents: 'the document',
  skills: 'the text of the skill',
};

const LAYERS: Readonly<Record<string, string>> = {
  memory: 'MEMORY.md',
  files: 'the files of the workspace that are my instructions (AGENTS.md, SOUL.md, USER.md, TOOLS.md)',
  'active skills': 'the skills that are always active',
  skills: 'the list of skills',
  program: 'the instructions of the program',
};

/** Closes the sentence of a turn that failed because of refused content. */
export const OWN_LEFT_OUT =
  'What was new in this message is left out of later requests, so the conversation can go on.';

/** What the turn left out of its requests, for the end of its answer; '' for nothing. `named`: the reader may see names of files. */
export function refusalNote(entries: readonly TapeEntry[], { named }: { readonly named: boolean }): string {
  const refused = refusedOf(entries);
  if (refused === undefined) return '';
  return `${refused.model} refused the request because of ${whatOf(refused, entries, named)}, so I answered without it. Later requests leave it out, too.`;
}

/** The layers of the system prompt that the turn left out, in words; '' for none. */
export function refusedLayers(entries: readonly TapeEntry[]): string {
  const { layers = [] } = refusedOf(entries) ?? {};
  return layers.map(({ name }) => layerName(name)).join(' and ');
}

function whatOf({ parts, layers }: Refused, entries: readonly TapeEntry[], named: boolean): string {
  const own = new Map(entries.map((entry) => [entry.id, entry]));
  const words = parts.map(({ entry, what }) => {
    const of = own.get(entry);
    if (of === undefined) return 'an earlier part of the conversation';
    if (what === 'result' || what === 'message')
      return of.kind === 'message' && of.role === 'tool' ? `the result of \`${of.name}\`` : 'your message';
    return PARTS[what];
  });
  const files = layers.map(({ name }) => (named ? layerName(name) : 'a part of my instructions'));
  return [...new Set([...words, ...files])].join(' and ');
}

function layerName(name: string): string {
  return LAYERS[name] ?? 'a part of the system prompt';
}
