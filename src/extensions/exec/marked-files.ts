import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { CommandWords, Marks } from '../../core/api-commands.ts';
import { escapeControlChars } from '../../core/api-tools.ts';
import { cut } from '../../core/api.ts';
import { namedFiles } from './always-allow.ts';

/** A question lists at most this many paths. */
const MOST_LISTED = 20;
/** It shows at most this many files, and characters of each. */
const MOST_SHOWN = 5;
const MOST_CHARS = 2_000;

/**
 * For a question about a command outside the sandbox: the marked files below its folder, and the content of those that the
 * command names, or runs without naming them, such as a Makefile. Empty if there are none.
 */
export async function markedFiles(
  command: string,
  words: CommandWords,
  {
    marks,
    folder,
    workspace,
  }: { readonly marks: Marks | undefined; readonly folder: string; readonly workspace: string },
): Promise<string> {
  if (marks === undefined) return '';
  const named = Object.keys(await namedFiles(command, words, { folder, workspace }))
    .map((path) => marks.realOf(path))
    .filter((path) => marks.authorOf(path) !== null);
  const above = marks.authorOf(folder) === null ? [] : [folder];
  const listed = [...new Set([...named, ...above, ...marks.below(folder, MOST_LISTED)])];
  if (listed.length === 0) return '';
  const shown = listed.slice(0, MOST_LISTED).map((path) => `- ${marks.nameOf(path) || 'the workspace'}`);
  const rest = Math.max(listed.length, marks.count(folder)) - shown.length;
  const texts = await Promise.all(
    [...new Set(named)].slice(0, MOST_SHOWN).map(async (path) => `\n\n${marks.nameOf(path)}:\n${await textOf(path)}`),
  );
  const list = [
    'Files that others helped to write and that it may run or read:',
    ...shown,
    ...(rest > 0 ? [`… and ${rest} more`] : []),
  ];
  return escapeControlChars(`\n\n${list.join('\n')}${texts.join('')}`);
}

async function textOf(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return "[can't be read]";
  try {
    if (!(await file.stat()).isFile()) return '[not a regular file]';
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_CHARS * 4), 0, MOST_CHARS * 4, 0);
    const text = buffer.subarray(0, bytesRead).toString('utf8');
    return text.length > MOST_CHARS ? `${cut(text, MOST_CHARS)}\n[… the rest isn't shown]` : text;
  } finally {
    await file.close();
  }
}
