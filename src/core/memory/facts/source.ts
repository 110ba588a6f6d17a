/** What wrote a fact of MEMORY.md, or took it away. */
export type FactOrigin = 'memory_write' | 'consolidation' | 'edit' | 'restore' | 'undo';

/** Where a fact comes from, or what ended it. */
export interface FactSource {
  /** `edit`: a person changed the file. */
  readonly how: FactOrigin;
  /** The conversation; null: none. */
  readonly session: string | null;
  readonly turn: string | null;
  /** When it was said or written, milliseconds since 1970. */
  readonly at: number;
}

/** Where in a conversation a fact was told. */
export interface Told {
  readonly fact: string;
  readonly turn: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** What changes MEMORY.md. */
export interface Writer {
  readonly how: FactOrigin;
  /** @default none */
  readonly session?: string;
  /** @default none */
  readonly turn?: string;
  /** The fact that takes the place of all that leave. @default the nearest one of those that come */
  readonly replacement?: string;
  /** Turns of single facts, which win over `turn`. @default none */
  readonly told?: readonly Told[];
}

/** A fact for the time in which it stands in MEMORY.md. */
export interface FactRecord extends Omit<FactSource, 'at' | 'how'> {
  /** Names the row. */
  readonly seq: number;
  readonly fact: string;
  /** A `FactOrigin`, or one of a newer version. */
  readonly how: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** What ended it; null: it stands. */
  readonly ended: (Omit<FactSource, 'how'> & { readonly how: string; readonly replacedBy: string | null }) | null;
}

/** One step of the records. */
export interface FactStep {
  readonly begin: readonly (Omit<FactSource, 'at'> & { readonly fact: string; readonly since: number })[];
  readonly end: readonly { readonly seq: number; readonly by: FactSource; readonly replacedBy: string | null }[];
  /** Ended ones that stand again, as if they had never ended. */
  readonly resume: readonly number[];
  /** The change of the file that is about to be made, as JSON; null: none is. */
  readonly change: string | null;
}

/** Where records are kept, so that they outlive the process. */
export interface FactRows {
  /** The facts that stand, oldest first. */
  holding(): readonly FactRecord[];
  /** Ended ones, the newest end first. */
  ended(most: number): readonly FactRecord[];
  /** The change that was to be made and is not known to be; null: none. */
  change(): string | null;
  /** Makes one step as a whole. */
  step(step: FactStep): Promise<void>;
}
