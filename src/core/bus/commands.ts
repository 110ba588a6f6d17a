/** The names of the chat commands, without the slash; the table of commands has no others. */
export const COMMAND_NAMES: readonly string[] = [
  'help',
  'new',
  'stop',
  'retry',
  'status',
  'agent',
  'why',
  'usage',
  'context',
  'model',
  'busy',
  'mem',
  'memory',
  'soul',
  'tape',
  'undo',
  'trust',
  'skills',
  'cron',
  'approve',
  'deny',
  'pair',
  'restart',
  'start',
  'setup',
];

/** The command that people call on a message from its menu, and its name there. */
export const ON_MESSAGE = { command: 'why', label: 'Why?' } as const;

/** Matches the slash of a command that is not part of a path or an address. */
const COMMAND = new RegExp(String.raw`(?<![\w/.:~-])/(?=(?:${COMMAND_NAMES.join('|')})(?![\w/-]|\.\w))`, 'gu');
const FENCE = /^\s*(?<fence>`{3,}|~{3,})/u;

/**
 * Replaces the slash of each command in a text of the program by `prefix`: with `/assistant `, `/retry` becomes
 * `/assistant retry`. Blocks of code stay unchanged.
 */
export function withCommandPrefix(markdown: string, prefix: string): string {
  if (prefix === '/') return markdown;
  let fence: string | undefined;
  return markdown
    .split('\n')
    .map((line) => {
      const found = FENCE.exec(line)?.groups?.['fence'];
      const wasInside = fence !== undefined;
      if (found !== undefined && fence === undefined) fence = found;
      else if (found !== undefined && fence !== undefined && found.startsWith(fence)) fence = undefined;
      return wasInside || fence !== undefined ? line : line.replaceAll(COMMAND, prefix);
    })
    .join('\n');
}
