import type { HostPort } from '../../fetch/host-list.ts';

/** What a command can get at: enclosed without and with the network, or not enclosed at all. */
export type CommandReach = 'workspace' | 'network' | 'anywhere';

/** Where a command will run. Paths are absolute; what is left out is not known, and not asked about. */
export interface CommandPlace {
  /** @default anywhere */
  readonly reach?: CommandReach;
  /** The folder it starts in. @default somewhere in the workspace */
  readonly cwd?: string | undefined;
  readonly workspace?: string | undefined;
  /** The assistant's home. */
  readonly home?: string | undefined;
  /** What `~` means. */
  readonly userHome?: string | undefined;
  /** Whether the configuration opens a host on purpose. @default none is */
  readonly opened?: ((target: HostPort) => boolean) | undefined;
}

/** Something that a person should know of before a command runs. */
export interface Concern {
  /** A clause about the command: `it names 10.0.0.1, which is a private address`. */
  readonly reason: string;
  /** Without it the thing cannot happen, so nobody has to be asked. */
  readonly needs: 'network' | 'outside';
}

/** Whether a command with this reach could do it. */
export function isPossible({ needs }: Concern, reach: CommandReach): boolean {
  return reach === 'anywhere' || (reach === 'network' && needs === 'network');
}

export function outside(reason: string): Concern {
  return { reason, needs: 'outside' };
}
