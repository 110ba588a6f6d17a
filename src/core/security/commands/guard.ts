import type { HostPort } from '../fetch/host-list.ts';
import { closedHosts } from './hosts.ts';
import { deletesByCode, destroyedBy, isOwnState, startFileIn } from './places.ts';
import { DECODED, FETCHED, type CommandWords, type Invocation } from './words.ts';

/** What a command can get at: enclosed without and with the network, or not enclosed at all. */
export type CommandReach = 'workspace' | 'network' | 'anywhere';

/** Where a command will run. Paths are absolute; what is left out is not known, and not asked about. */
export interface CommandPlace {
  /** @default anywhere */
  readonly reach?: CommandReach;
  readonly workspace?: string;
  /** The assistant's home. */
  readonly home?: string;
  /** Whether the configuration opens a host on purpose. @default none is */
  readonly opened?: (target: HostPort) => boolean;
}

export type CommandDecision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'ask'; /** One sentence. */ readonly reason: string }
  | { readonly decision: 'deny'; /** One sentence. */ readonly reason: string };

const MOST_REASONS = 3;

/**
 * Decides about the words of a shell command, in every mode. Denied is the plainly destructive. Asked about are private
 * and metadata hosts and what is published, where there is a network; and, where nothing encloses the command, what
 * reaches the machine, what runs later, and the assistant itself.
 *
 * It is a net under honest mistakes, not a sandbox: nothing is computed, and a program can do anything that its name
 * does not tell. What cannot be read is asked about where nothing encloses it; in the sandbox it runs.
 */
export function guardCommand(words: CommandWords, place: CommandPlace = {}): CommandDecision {
  const { reach = 'anywhere', workspace, opened } = place;
  const { invocations, code, forkBomb, unread, home: userHome } = words;
  const [refusal] = [
    ...invocations.flatMap((call) => destroyedBy(call, userHome) ?? reasonIn(REFUSED, call) ?? []),
    ...(forkBomb === undefined ? [] : [`the function \`${forkBomb}\` is a fork bomb`]),
    ...(code.includes(DECODED) ? ['it runs decoded data as a command, so no one can see what it does'] : []),
  ];
  if (refusal !== undefined) return { decision: 'deny', reason: `This command is refused in every mode: ${refusal}.` };
  const reasons = new Set<string>();
  for (const call of reach === 'workspace' ? [] : invocations) {
    for (const reason of closedHosts(call, opened)) reasons.add(reason);
    reasons.add(reasonIn(ASKED_ONLINE, call) ?? '');
    if (reach === 'network') continue;
    reasons.add(reasonIn(ASKED_OUTSIDE, call) ?? '');
    reasons.add(startFileIn(call, { workspace, userHome }) ?? '');
    if (deletesByCode(call)) reasons.add(`code that it hands to \`${call.name}\` names a home and deletes`);
    if (isOwnState(call, place)) reasons.add("it names the assistant's own configuration or state");
  }
  if (reach === 'anywhere' && code.includes(FETCHED)) reasons.add('it runs what a server sends, which no one has read');
  if (reach === 'anywhere' && unread !== undefined) reasons.add(`not all of it could be checked, because ${unread}`);
  reasons.delete('');
  return reasons.size === 0 ? { decision: 'allow' } : { decision: 'ask', reason: sentenceOf([...reasons]) };
}

function sentenceOf(reasons: readonly string[]): string {
  const shown = reasons.slice(0, MOST_REASONS).map((reason) => reason.replaceAll(/\0(?:fetched|decoded)?/gu, '…'));
  const more = reasons.length > MOST_REASONS ? `, and ${reasons.length - MOST_REASONS} more` : '';
  return `This needs a yes in every mode: ${shown.join('; ')}${more}.`;
}

/** A program and its arguments, each a line; then why, as a clause in which `%` is the program. */
type Rules = readonly (readonly [call: RegExp, why: string])[];

const REFUSED: Rules = [
  [/^rm\n(?:.*\n)*--no-preserve-root/u, '`%` is meant to delete the whole system'],
  [/^(?:mkfs.*|mke2fs|mkswap|wipefs|blkdiscard)\n(?!-h$|--help|--version|-V)/u, '`%` destroys what a disk contains'],
  [
    /^(?:shutdown|reboot|halt|poweroff)(?!\n(?:.*\n)*(?:-c|--help|--version)(?:\n|$))(?:\n|$)/u,
    '`%` would stop the machine',
  ],
  [/^(?:init|telinit)\n[016sS]$/u, '`%` would stop the machine'],
  [
    /^(?:systemctl|loginctl)\n(?!(?:.*\n)*--user)(?:-.*\n)*(?:poweroff|reboot|halt|kexec|soft-reboot|suspend|hibernate|hybrid-sleep|suspend-then-hibernate|rescue|emergency|exit|(?:isolate|start)\n(?:poweroff|reboot|halt|shutdown|rescue|emergency|kexec|runlevel[016])(?:\.target)?)(?:\n|$)/u,
    '`%` would stop the machine',
  ],
  [/^killall5(?:\n|$)|^kill\n(?:.*\n)+-1(?:\n|$)/u, 'it would end every process'],
];

const ASKED_ONLINE: Rules = [
  [
    /^git\n(?!(?:.*\n)*(?:--dry-run|-n)(?:\n|$))(?:-[cC]\n.*\n|-(?![cC]\n).*\n)*push\n(?:.*\n)*(?:-[a-zA-Z]*[fd][a-zA-Z]*|--force|--mirror|--delete|--prune|[+:][^\0\n].*)(?:\n|$)/u,
    'it overwrites what others see (`git push`)',
  ],
  [
    /^(?:npm\n(?:publish|unpublish|deprecate|dist-tag|owner|access)|(?:pnpm|bun|uv|poetry|flit|hatch|vsce|cargo|gem|yarn\nnpm|yarn)\n(?:publish|push|yank|owner)|twine\nupload|mvn\n(?:.*\n)*deploy|(?:docker|podman|helm)\n(?:image\n)?push|gh\n(?:release\n(?:create|delete|upload)|repo\n(?:delete|archive|rename)|gist\ncreate))(?!(?:\n.*)*\n--dry-run)(?:\n|$)/u,
    'it publishes or withdraws something (`%`)',
  ],
];

const ASKED_OUTSIDE: Rules = [
  [
    /^(?:sudo|doas|su|pkexec|run0|runuser|sudoedit)(?!\n(?:-[lvVkK]|--(?:list|validate|version|help))(?:\n|$))(?:\n|$)/u,
    "it runs with another user's rights (`%`)",
  ],
  [
    /^(?:crontab|at|batch|systemd-run)(?!\n-[lc]$)(?:\n|$)|^(?:systemctl|loginctl)\n(?:-.*\n)*(?:enable|disable|mask|link|edit|set-\w+|enable-linger)(?:\n|$)/u,
    'it changes what runs later by itself (`%`)',
  ],
  [/^(?:systemctl|service)\n(?!(?:.*\n)*status)(?:.*\n)+assistant(?:\W|$)/u, "it changes the assistant's own service"],
  [
    /^(?:(?:npx|npm|pnpm|bunx|yarn)\n(?:(?:exec|dlx|x)\n)*)?assistant\n(?!-|(?:status|usage|why|completion|help)(?:\n|$))|^node\n(?:.*\/)?launcher\.cjs/u,
    "it uses the assistant's own command line, which obeys every caller",
  ],
  [
    /^(?:pkill|killall|fuser\n(?:.*\n)*-[a-zA-Z]*k|kill\n(?!-[0lLsn]\n)(?:-.*\n)?[1-9]\d*)(?:\n|$)/u,
    'it ends processes that it did not start (`%`)',
  ],
];

function reasonIn(rules: Rules, { name, args }: Invocation): string | undefined {
  const call = [name, ...args.map((arg) => arg.replaceAll('\n', ' '))].join('\n');
  return rules.find(([pattern]) => pattern.test(call))?.[1].replace('%', () => name);
}
