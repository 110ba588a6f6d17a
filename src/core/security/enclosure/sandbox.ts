import type { Role } from '../../bus/messages.ts';
import type { GitKeeper } from '../sandbox/git-keeper.ts';
import type { Enclosure, SandboxEngine } from './enclosure.ts';

export type SandboxProbe =
  | {
      readonly available: true;
      /** What could not be had, a sentence each. */
      readonly notes: readonly string[];
      readonly engine: SandboxEngine;
    }
  | {
      readonly available: false;
      /** One sentence. */
      readonly reason: string;
      /** What would give one, as a command where there is one; without a full stop. */
      readonly remedy?: string;
      /** The test did not end in time: another one may. */
      readonly late?: true;
    };

export interface EnclosureRequest {
  /** An existing folder in the workspace. */
  readonly cwd: string;
  /** For roles other than owner, `memory/` and `USER.md` are hidden. */
  readonly role: Role;
  /** @default false */
  readonly network?: boolean;
  /** What this command alone may read: its session's spill and media. */
  readonly readRoots?: readonly string[];
}

/** What encloses the commands of one home. */
export interface Sandbox extends AsyncDisposable {
  /** Whether it holds on this machine. Tested at the first call, and again after a test that took too long; never rejects. */
  probe(): Promise<SandboxProbe>;
  /**
   * What a command sees, for `runEnclosed(program, { ...enclosure, … })`. Throws `sandbox-unavailable`, `sandbox-place` or
   * `sandbox-folder` rather than let anything out.
   */
  enclose(request: EnclosureRequest): Promise<Enclosure>;
  /** Keeps what commands write in repositories from being run by the owner's git. @default nothing does */
  readonly git?: GitKeeper;
}
