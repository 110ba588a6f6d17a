import * as z from 'zod';
import type { Clock } from '../../util/clock.ts';
import { recordKey } from '../files/facts.ts';
import { FORGOTTEN } from '../forget/mention.ts';
import { factDifference, factsByKey } from './difference.ts';
import type { FactRecord, FactRows, FactSource, FactStep, Writer } from './source.ts';
import { againText, goneText } from './text.ts';

export interface FactRecordsOptions {
  readonly rows: FactRows;
  readonly clock: Clock;
  /** IANA zone of the dates in HISTORY.md, or null for the machine's. */
  readonly timezone: string | null;
  /** Adds paragraphs to HISTORY.md; those that its end has already are not written again. */
  readonly append: (
    entries: readonly { readonly at: number; readonly tag: string; readonly text: string }[],
  ) => Promise<void>;
  /** When a person may have saved the file last, milliseconds since 1970. */
  readonly savedAt: () => Promise<number>;
}

const source = z.object({
  how: z.enum(['memory_write', 'consolidation', 'edit', 'restore', 'undo']),
  session: z.string().nullable(),
  turn: z.string().nullable(),
  at: z.number(),
});

/** A change of MEMORY.md that is about to be made. */
const plannedChange = z.object({
  source,
  added: z.array(source.extend({ fact: z.string() })),
  gone: z.array(z.object({ fact: z.string(), replacedBy: z.string().nullable(), until: z.number() })),
  /** For HISTORY.md. */
  entries: z.array(z.object({ at: z.number(), tag: z.string(), text: z.string(), unless: z.string() })),
});
type PlannedChange = z.infer<typeof plannedChange>;

/** Of ended facts, how many of the newest may stand again. */
const MOST_RESUMED = 2_000;

/**
 * The records of where the facts of MEMORY.md come from, and what became of those that left. A change of the file is planned before it is
 * made and taken in after it, so that a crash between loses neither its source nor the paragraph of HISTORY.md about what it replaced. Facts
 * that come or go otherwise were written by a person. One call at a time.
 */
export class FactRecords {
  readonly #options: FactRecordsOptions;

  constructor(options: FactRecordsOptions) {
    this.#options = options;
  }

  /** A change was planned that was not taken in: the process ended, or the disk refused it. */
  get isBehind(): boolean {
    return this.#options.rows.change() !== null;
  }

  /** Takes in the file as it is. */
  async takeIn(text: string): Promise<void> {
    const { rows, append } = this.#options;
    const planned = parsed(rows.change());
    const facts = factsByKey(text);
    const holding = new Map(rows.holding().map((row) => [recordKey(row.fact), row]));
    const added = [...facts].filter(([key]) => !holding.has(key));
    const gone = [...holding].filter(([key]) => !facts.has(key));
    if (rows.change() === null && added.length === 0 && gone.length === 0) return;
    const entries = (planned?.entries ?? []).filter(
      (entry) => !facts.has(entry.unless) && !entry.text.includes(FORGOTTEN),
    );
    if (entries.length > 0) await append(entries);
    const edit = { how: 'edit', session: null, turn: null, at: await this.#options.savedAt() } as const;
    await rows.step({ ...this.#begun(added, planned, edit), end: ended(gone, planned, edit), change: null });
  }

  /** Plans a change of a file that is `before` now. Call `takeIn` with what it is after the change. */
  async plan(before: string, after: string, writer: Writer): Promise<void> {
    await this.takeIn(before);
    const { rows, clock } = this.#options;
    const { added, gone } = factDifference(before, after, writer.replacement);
    if (added.length === 0 && gone.length === 0) return;
    const now = clock.now();
    const by = { how: writer.how, session: writer.session ?? null, turn: writer.turn ?? null, at: now };
    const told = new Map(writer.told?.map((one) => [recordKey(one.fact), one]));
    const sourceOf = (fact: string | null): FactSource => {
      const found = fact === null ? undefined : told.get(recordKey(fact));
      return found === undefined ? by : { ...by, turn: found.turn, at: found.at };
    };
    const change: PlannedChange = {
      source: by,
      added: added.map((fact) => ({ ...sourceOf(fact), fact })),
      gone: gone.map((one) => ({ ...one, until: sourceOf(one.replacedBy).at })),
      entries: this.#entries(added, gone, { by, sourceOf }),
    };
    await rows.step({ begin: [], end: [], resume: [], change: JSON.stringify(change) });
  }

  /** The facts that stand, by what makes facts the same. */
  holding(): ReadonlyMap<string, FactRecord> {
    return new Map(this.#options.rows.holding().map((row) => [recordKey(row.fact), row]));
  }

  /** Those that no longer stand, the last ones first. */
  ended(most: number): readonly FactRecord[] {
    return this.#options.rows.ended(most);
  }

  #begun(
    added: readonly (readonly [key: string, fact: string])[],
    planned: PlannedChange | null,
    edit: FactSource,
  ): Pick<FactStep, 'begin' | 'resume'> {
    const sources = new Map(planned?.added.map((one) => [recordKey(one.fact), one]));
    const isBack = planned?.source.how === 'undo' || planned?.source.how === 'restore';
    const before = isBack ? this.#options.rows.ended(MOST_RESUMED) : [];
    const begin: FactStep['begin'][number][] = [];
    const resume: number[] = [];
    for (const [key, fact] of added) {
      const { how, session, turn, at } = sources.get(key) ?? edit;
      const known = sources.has(key) ? before.find((row) => recordKey(row.fact) === key) : undefined;
      if (known === undefined) begin.push({ fact, how, session, turn, since: at });
      else resume.push(known.seq);
    }
    return { begin, resume };
  }

  /** What HISTORY.md says of a change: a removal that the owner asked for is no news, and what a person edits is theirs. */
  #entries(
    added: readonly string[],
    gone: readonly { readonly fact: string; readonly replacedBy: string | null }[],
    { by, sourceOf }: { readonly by: FactSource; readonly sourceOf: (fact: string | null) => FactSource },
  ): PlannedChange['entries'] {
    const { rows, timezone } = this.#options;
    const tagged = (turn: string | null, text: string, unless: string): PlannedChange['entries'][number] => ({
      at: by.at,
      tag: ['memory', ...(by.session === null ? [] : [by.session]), ...(turn === null ? [] : [`turn ${turn}`])].join(
        ', ',
      ),
      text,
      unless,
    });
    if (by.how === 'undo') {
      const superseded = new Set(
        rows.ended(MOST_RESUMED).flatMap((row) => (row.ended?.replacedBy == null ? [] : [recordKey(row.fact)])),
      );
      const again = added.filter((fact) => superseded.has(recordKey(fact)));
      const [first] = gone;
      if (again.length === 0) return [];
      const text = againText(
        again,
        gone.map(({ fact }) => fact),
      );
      return [tagged(null, text, first === undefined ? '' : recordKey(first.fact))];
    }
    if (by.how !== 'memory_write' && by.how !== 'consolidation') return [];
    const since = new Map(rows.holding().map((row) => [recordKey(row.fact), row.since]));
    return gone
      .filter(({ replacedBy }) => replacedBy !== null || by.how === 'consolidation')
      .map(({ fact, replacedBy }) => {
        const { turn, at: until } = sourceOf(replacedBy);
        const text = goneText({ fact, since: since.get(recordKey(fact)) ?? until, until, replacedBy }, timezone);
        return tagged(turn, text, recordKey(fact));
      });
  }
}

function ended(
  gone: readonly (readonly [key: string, row: FactRecord])[],
  planned: PlannedChange | null,
  edit: FactSource,
): FactStep['end'] {
  const changes = new Map(planned?.gone.map((one) => [recordKey(one.fact), one]));
  return gone.map(([key, { seq }]) => {
    const change = changes.get(key);
    if (change === undefined || planned === null) return { seq, by: edit, replacedBy: null };
    return { seq, by: { ...planned.source, at: change.until }, replacedBy: change.replacedBy };
  });
}

function parsed(change: string | null): PlannedChange | null {
  if (change === null) return null;
  try {
    return plannedChange.safeParse(JSON.parse(change)).data ?? null;
  } catch {
    return null;
  }
}
