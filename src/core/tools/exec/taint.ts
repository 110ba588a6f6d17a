import type { FileOrigins, ResultBits } from '../files/taint.ts';

/** What a command can get at: enclosed without and with the network, or not enclosed at all. */
/** Where untrusted output of a command comes from. */
export const OUTPUT_SOURCE = 'the output of a command that may contain text by others';

export type Reach = 'workspace' | 'network' | 'anywhere';

const TOOLS = 'curl|wget|aria2c|yt-dlp|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp|lynx|links|w3m|gh|glab';
const GIT = String.raw`git\s+(?:-\S+\s+)*(?:clone|fetch|pull|ls-remote|submodule|remote\s+update)`;
const PACKAGES = String.raw`(?:npm|pnpm|yarn|bun|pip[3x]?|uv|cargo|gem|brew|apt(?:-get)?|docker|podman)\s+(?:-\S+\s+)*(?:i|install|add|ci|view|info|search|audit|update|download|pull)`;
const FETCHES = new RegExp(String.raw`https?://|(?<![\w-])(?:${TOOLS}|${GIT}|${PACKAGES})(?![\w-])`, 'iu');

/**
 * The bits of what a command prints. It may print any file of the owner's. It may print words of strangers when it has
 * the network, when it names a file they had a part in, or when it is not enclosed and looks as if it fetched
 * something: to hold every such command for one would make `full` a mode that asks each time.
 */
export async function bitsOfCommand(
  command: string,
  reach: Reach,
  { origins, cwd }: { readonly origins: FileOrigins | undefined; /** Absolute. */ readonly cwd: string },
): Promise<ResultBits> {
  const fetches = reach === 'network' || (reach === 'anywhere' && FETCHES.test(command));
  const isUntrusted = fetches || (await origins?.isNamedIn(command, cwd)) === true;
  return isUntrusted ? { private: true, untrusted: true } : { private: true };
}
