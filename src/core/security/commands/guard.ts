import { parse } from 'unbash';
import { withoutMarks } from './placeholders.ts';
import type { HostPort } from '../fetch/host-list.ts';
import { newScope, Refusal } from './scope.ts';
import { runNode } from './script.ts';

/** What a command can get at: enclosed without and with the network, or not enclosed at all. */
export type CommandReach = 'workspace' | 'network' | 'anywhere';

/** Where a command will run. Paths are absolute; what is left out is not known, and not asked about. */
export interface CommandPlace {
  /** @default anywhere */
  readonly reach?: CommandReach;
  /** The folder it starts in. @default somewhere in the workspace */
  readonly cwd?: string;
  readonly workspace?: string;
  /** The assistant's home. */
  readonly home?: string;
  /** What `~` means. */
  readonly userHome?: string;
  /** Whether the configuration opens a host on purpose. @default none is */
  readonly opened?: (target: HostPort) => boolean;
}

export type CommandDecision =
  | { readonly decision: 'allow' }
  | { readonly decision: 'ask'; /** One sentence. */ readonly reason: string }
  | { readonly decision: 'deny'; /** One sentence. */ readonly reason: string };

/**
 * Decides about a shell command, in every mode, however it is wrapped. It parses the command and follows what can be
 * known (variables, substitutions, nested shells, here-documents, pipes).
 *
 * Denied is the plainly destructive: deleting the system or a home, making file systems, writing over devices, stopping
 * the machine, fork bombs, decoded data run as commands; and what cannot be parsed.
 *
 * Asked about is what reaches beyond the folder it runs in, as far as its `place` lets it:
 * - where there is a network: private, loopback, link-local and metadata hosts named as a target (as a URL, an address
 *   in any spelling, a proxy, in a script's code); publishing a package, image, release or gist; overwriting or deleting
 *   on a git remote;
 * - where nothing encloses it: another user's rights; mounts, modules, firewall, accounts, set-id programs; what runs
 *   later or by itself (cron, units, start-up files, authorized keys, git settings that run programs); the assistant's
 *   own service, command line and state; ending processes by name or number; rights of whole folders outside the
 *   workspace; containers that are given the machine; local sockets and `ssh -R`; running what a server sends.
 *
 * It is a net under honest mistakes and crude attacks, not a sandbox: a program that was not written in this command
 * can still do anything, and a public name may lead to a private address.
 */
export function guardCommand(command: string, place: CommandPlace = {}): CommandDecision {
  const { reach = 'anywhere' } = place;
  try {
    if (command.length > LONGEST_COMMAND) {
      throw new Refusal(`it is longer than ${LONGEST_COMMAND} characters; write what is long to a file and name that`);
    }
    const scope = newScope(place, runNode);
    runNode(parse(withoutMarks(command)), scope);
    const reasons = [...scope.shared.risks].flatMap(([reason, needs]) =>
      reach === 'anywhere' || reach === needs ? reason : [],
    );
    return reasons.length === 0 ? { decision: 'allow' } : { decision: 'ask', reason: sentenceOf(reasons) };
  } catch (error) {
    const reason = error instanceof Refusal ? error.message : 'it could not be checked';
    return { decision: 'deny', reason: `This command is refused in every mode: ${reason}.` };
  }
}

/** What is longer takes too long to be read on the event loop. */
const LONGEST_COMMAND = 20_000;
const MOST_REASONS = 3;

function sentenceOf(reasons: readonly string[]): string {
  const shown = reasons.slice(0, MOST_REASONS);
  const more = reasons.length > MOST_REASONS ? `, and ${reasons.length - MOST_REASONS} more` : '';
  return `This needs a yes in every mode: ${shown.join('; ')}${more}.`;
}
