import { readdir, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { within, type CommandReach, type Marks, type ResultBits } from '../../core/api-commands.ts';

const TOOLS = 'curl|wget|aria2c|yt-dlp|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp|lynx|links|w3m|gh|glab';
const GIT = String.raw`git\s+(?:-\S+\s+)*(?:clone|fetch|pull|ls-remote|submodule|remote\s+update)`;
const PACKAGES = String.raw`(?:npm|pnpm|yarn|bun|pip[3x]?|uv|cargo|gem|brew|apt(?:-get)?|docker|podman)\s+(?:-\S+\s+)*(?:i|install|add|ci|view|info|search|audit|update|download|pull)`;
const FETCHES = new RegExp(String.raw`https?://|(?<![\w-])(?:${TOOLS}|${GIT}|${PACKAGES})(?![\w-])`, 'iu');

/** Programs, options and patterns that read all folders below the one they're given. */
const WALKS =
  /(?<![\w-])(?:find|fd|rg|ag|ack|tree|du|tar|zip|rsync|git\s+grep|(?:[efz]?grep|ls|cp|cat)\s(?:[^|;&\n]*\s)?(?:-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive))(?!\w)|[*?[][^/\s]*\//u;
/** Words with which a command leaves the folder in which it runs. HOME is the workspace. */
const LEAVES = /\.\.|~|\bHOME\b|\bOLDPWD\b/u;

interface Place {
  readonly marks?: Marks;
  /** Real path of the folder in which the command runs. */
  readonly folder: string;
  /** Real path. */
  readonly workspace: string;
}

/**
 * The bits of a command's output, which is always private, because it may show any file of the owner's. It is untrusted if the
 * command has network access in the sandbox, if it fetches something outside of it, or if its top-level folder holds a mark.
 */
export async function bitsOfCommand(command: string, reach: CommandReach, place: Place): Promise<ResultBits> {
  const fetches = reach === 'network' || (reach === 'anywhere' && FETCHES.test(command));
  const { marks } = place;
  const isUntrusted =
    fetches || marks?.holdsBelow(await topFolder(command, place)) === true || (await reachesPlaces(command, place));
  return isUntrusted ? { private: true, untrusted: true } : { private: true };
}

/** The top-level folder in which a command runs; the workspace if it runs there or leaves its folder. */
export async function topFolder(command: string, place: Omit<Place, 'marks'>): Promise<string> {
  const { folder, workspace } = place;
  const [top = ''] = folder.slice(workspace.length + 1).split('/');
  if (top === '' || LEAVES.test(command) || command.includes(workspace)) return workspace;
  const own = resolve(workspace, top);
  return (await leadsOut(command, place, own)) ? workspace : own;
}

/** True if a word of the command, or a link in its folder, leads to another folder of the workspace. */
async function leadsOut(command: string, { folder, workspace }: Omit<Place, 'marks'>, top: string): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const links = entries.flatMap((entry) => (entry.isSymbolicLink() ? [entry.name] : []));
  for (const name of [...links, ...wordsOf(command)]) {
    const real = await realpath(resolve(folder, name)).catch(() => null);
    if (real !== null && within(workspace, real) && !within(top, real)) return true;
  }
  return false;
}

/** Words of a command that may be paths, each up to its first wildcard. */
function wordsOf(command: string): readonly string[] {
  return command
    .split(/[\s'"`;|&<>()$={},:]+/u)
    .map((word) => word.replace(/[^/]*[*?[].*$/u, ''))
    .filter((word) => word !== '' && !word.includes('\0'));
}

/** True if a command runs in, names or searches a place that is untrusted without a mark, or names a folder above one. */
async function reachesPlaces(command: string, { marks, folder }: Place): Promise<boolean> {
  const places = (await marks?.places({ log: true })) ?? [];
  if (places.length === 0) return false;
  const walks = WALKS.test(command);
  const paths = wordsOf(command).map((word) => resolve(folder, word));
  return places.some(
    (place) =>
      within(place, folder) ||
      (walks && within(folder, place)) ||
      command.includes(place) ||
      paths.some((path) => within(place, path) || (path !== folder && path !== '/' && within(path, place))),
  );
}
