import type { Mount, RunOptions } from '../security/enclosure/enclosure.ts';

/**
 * Runs a command on a copy-on-write view of the workspace and lands what it changed, whole or not at all. A landing can be
 * undone exactly for 90 days, unless its files have changed since.
 */
export interface Landing extends AsyncDisposable {
  /** Whether views work on this machine and workspace. The self-test runs once; mounts are read again at each call. */
  probe(): Promise<LandingProbe>;
  /** Throws `no-view` with a sentence where there are no views. Dispose of the view in any case: that discards what didn't land. */
  open(options: { readonly signal: AbortSignal; readonly mostBytes?: number }): Promise<View>;
  /** Finishes or reverts the landings that an earlier process left unfinished, and discards its views. Never rejects. */
  recover(): Promise<void>;
  /** Lands the inverse of a landing. */
  undo(id: string, signal: AbortSignal): Promise<UndoneLanding>;
  /** The landings of a turn, oldest first. */
  ofTurn(session: string, turn: string): readonly KeptLanding[];
  /** Removes undo copies that are older than `before`, and those older than a week while they take more than half of the quota. */
  sweep(options: {
    readonly before: number;
    readonly pace: () => Promise<void>;
  }): Promise<{ readonly removed: number; readonly bytes: number }>;
}

export type LandingProbe =
  | { readonly available: true }
  /** `reason` completes "There's no copy-on-write view because …"; `remedy` is a sentence. */
  | { readonly available: false; readonly reason: string; readonly remedy?: string };

/** A copy-on-write view of the workspace for one command. */
export interface View extends AsyncDisposable {
  /** `runEnclosed(program, { ...enclosure, mounts: view.over(enclosure.mounts), view: view.mount, … })`. */
  readonly mount: NonNullable<RunOptions['view']>;
  /**
   * The mounts of a command with the view in the workspace's place. Protected places are writable there because they are judged
   * before they land. Hidden places stay hidden.
   */
  over(mounts: readonly Mount[]): readonly Mount[];
  /** Calls `onFull` once if the view exceeds its limit. */
  watch(onFull: () => void): Disposable;
  /**
   * Lists, judges and lands the changes. Call it when the command's `exit` has resolved, which means that all its processes have
   * ended. Rejects only when `signal` aborts before the landing has begun.
   */
  land(options: LandOptions): Promise<LandingResult>;
}

export interface LandOptions {
  /**
   * May ask a person the first time. Called `again` just before the landing, when nothing else can land: what landed meanwhile may
   * have given the changes another meaning. Not called when nothing has changed.
   */
  readonly judge: (changes: Changes, signal: AbortSignal, again: boolean) => Promise<Verdict>;
  /** Called in the journal's transaction that makes the landing final: the place for marks. Must be synchronous. */
  readonly commit: (changes: Changes) => void;
  /** Real paths of folders in which our background processes are running. A landing never replaces or removes them. */
  readonly busyFolders: () => readonly string[];
  readonly session: string;
  readonly turn: string;
  readonly callId: string;
  /** Shown by /undo. */
  readonly command: string;
  readonly signal: AbortSignal;
}

/** `reason`: a sentence for the model. */
export type Verdict = { readonly lands: true } | { readonly lands: false; readonly reason: string };

export type LandingResult =
  /** `id` is undefined where nothing has changed. */
  | { readonly landed: LandedFacts }
  /** A sentence for the model: why nothing landed, and what to do. */
  | { readonly notLanded: string };

export interface LandedFacts {
  readonly id?: string;
  readonly paths: readonly ChangedPath[];
  /** False if the undo copies didn't fit into the undo store; the approval said so. */
  readonly canUndo: boolean;
}

/** Everything that a command changed. */
export interface Changes {
  /**
   * Every path that was added, changed or removed, with everything in added folders. A removed folder stands for what it held.
   * Parents come before their entries.
   */
  readonly paths: readonly ChangedPath[];
  /** What to mark: added folders as a whole, and other added or changed files. */
  readonly marks: readonly { readonly path: string; readonly isFolder: boolean }[];
  /** What needs approval before it lands, beside what git would run. */
  readonly needsApproval: readonly NeedsApproval[];
  /** The whole workspace as it will be, readable while `judge` runs. */
  readonly root: string;
  /** Real path of the new entry. Open it with O_NOFOLLOW and O_NONBLOCK, because the command chose what it is. */
  after(path: string): string;
  /** Real path of the old entry. Open it with O_NOFOLLOW and O_NONBLOCK. */
  before(path: string): string;
}

export interface ChangedPath {
  /** Relative to the workspace. */
  readonly path: string;
  /** `attributes`: only the mode or the mtime. */
  readonly how: 'added' | 'changed' | 'attributes' | 'removed';
  /** What will be there, or what was removed. */
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** Permission bits; of a removed path, those it had. */
  readonly mode: number;
  readonly size: number;
}

export interface NeedsApproval {
  readonly why: 'protected' | 'set-id' | 'no-undo';
  readonly paths: readonly string[];
  /** For the question. */
  readonly sentence: string;
}

/** A landing as /undo sees it. */
export interface KeptLanding {
  readonly id: string;
  readonly at: number;
  readonly session: string;
  readonly turn: string;
  readonly callId: string;
  readonly command: string;
  readonly paths: readonly string[];
  readonly state: 'landed' | 'undone' | 'not-undoable';
}

export type UndoneLanding =
  | { readonly undone: true; readonly paths: readonly string[] }
  /** `changed`: paths that have changed since the landing. */
  | { readonly undone: false; readonly reason: string; readonly changed: readonly string[] };
