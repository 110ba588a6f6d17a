import { resolve } from 'node:path';
import { forEachChild, parse, type SyntaxNode } from 'unbash';
import { folded } from '../paths/names.ts';
import { within } from '../paths/rules.ts';

/** What lies in the workspace, as much as has to be known to notice a change. */
export interface FilePeek {
  /** A value that changes with the content; `folder` for folders, null where there is neither file nor folder. */
  look(path: string): Promise<string | null>;
  /** The names in a folder; none where there is no folder. */
  names(folder: string): Promise<readonly string[]>;
}

/** Signs that end a word in a shell, and those that join two parts of one. */
const BETWEEN = /[\s'"`;|&()<>{}$=:,\\!*?[\]]+/u;
/** Folders that the command names, in which relative names may be meant too. */
const MOST_FOLDERS = 8;
/** Where the first part of a path is no entry of the folder. */
const MAY_LEAD_AWAY = /^(?:\/|\.{1,2}(?:\/|$))/u;
/** Longer words are no paths. */
const LONGEST_WORD = 4_096;

/**
 * The files of the workspace that a shell command names, with their content: programs and scripts it may run and files
 * it may hand to one. Every word counts, also inside quotes and nested shells, because it cannot be known which of
 * them will be run.
 */
export async function namedFiles(
  command: string,
  place: { readonly folder: string; readonly workspace: string },
  peek: FilePeek,
): Promise<Readonly<Record<string, string>>> {
  const words = [...wordsOf(command)].filter((word) => word !== '' && word.length <= LONGEST_WORD);
  const found = new Map<string, string>();
  const folders: string[] = [place.folder];
  const lookFrom = async (folder: string): Promise<void> => {
    // Of many words few name anything, so each is first looked for in the list of the folder.
    const names = new Set((await peek.names(folder)).map(folded));
    for (const word of words) {
      if (!MAY_LEAD_AWAY.test(word) && !names.has(folded(word.split('/', 1)[0] ?? ''))) continue;
      const path = resolve(folder, word);
      if (found.has(path) || path.includes('\0') || !within(place.workspace, path)) continue;
      const content = await peek.look(path);
      if (content === null) continue;
      found.set(path, content);
      if (content === 'folder' && folders.length < MOST_FOLDERS && !folders.includes(path)) folders.push(path);
    }
  };
  for (let at = 0; at < folders.length; at += 1) await lookFrom(folders[at] ?? place.folder);
  return Object.fromEntries([...found].filter(([, content]) => content !== 'folder'));
}

function wordsOf(command: string): Set<string> {
  const words = new Set(command.split(BETWEEN));
  const walk = (node: SyntaxNode): void => {
    if (node.type === 'Word') for (const word of [node.value, ...node.value.split(BETWEEN)]) words.add(word);
    forEachChild(node, walk);
  };
  try {
    walk(parse(command));
  } catch {
    // What cannot be parsed was refused before; its plain words still count.
  }
  return words;
}
