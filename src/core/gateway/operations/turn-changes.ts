import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import * as z from 'zod';
import type { ReceiptItem } from '../../agent/receipt/receipt.ts';
import type { App } from '../../app.ts';
import type { TurnRecord } from '../../journal/turn-records.ts';
import type { ChangeLog, RecordedChange } from '../../storage/change-log.ts';
import { previewOf } from '../../files/preview.ts';
import { cut } from '../../util/text.ts';
import { changedTexts } from '../../files/changed-texts.ts';

/** What a turn changed in a file or a job. */
export const turnChange = z.object({
  kind: z.enum(['file', 'job']),
  /** Path from the workspace on, or id of the job. */
  name: z.string(),
  /** The lines that are gone (`−`) and that came (`+`); null: its text is not kept any more, or it is none. */
  lines: z.string().nullable(),
});
export type TurnChange = Readonly<z.output<typeof turnChange>>;

/** Files and jobs of a turn whose lines are shown, and characters of what is shown of each. */
const MOST = 50;
const LONGEST = 20_000;

/**
 * The lines that a turn changed in files and jobs, each thing once, from its first to its last change. Taken from what is kept
 * for /undo, so after 90 days there are none.
 */
export async function turnChanges(
  { session, id }: Pick<TurnRecord, 'session' | 'id'>,
  did: readonly ReceiptItem[],
  { changes, paths, redact }: App,
): Promise<readonly TurnChange[]> {
  // A change is recorded before it is made; a call inside another has an id that begins with that of the outer one.
  const isDone = ({ call }: { readonly call: string }): boolean =>
    // A turn of an older version says nothing of what it did.
    did.length === 0 ||
    did.some(({ callId, outcome }) => outcome === 'done' && (call === callId || call.startsWith(`${callId}.`)));
  const [files, jobs] = await Promise.all([changes.of(session, id), changes.jobsOf(session, id)]);
  const root = await realpath(paths.workspace).catch(() => paths.workspace);
  const found: TurnChange[] = [];
  for (const made of byName(files.filter(isDone), ({ path }) => path).slice(0, MOST)) {
    const inside = relative(root, made.last.path);
    const name = inside === '' || inside.startsWith('..') ? made.last.path : inside;
    found.push({ kind: 'file', name, lines: shown(await fileLines(made, changes), redact) });
  }
  for (const { first, last } of byName(jobs.filter(isDone), ({ job }) => job).slice(0, MOST)) {
    found.push({
      kind: 'job',
      name: last.job,
      lines: shown(previewOf(spread(first.before), spread(last.after)), redact),
    });
  }
  return found;
}

interface Made<Change> {
  readonly first: Change;
  readonly last: Change;
}

function byName<Change>(all: readonly Change[], nameOf: (change: Change) => string): readonly Made<Change>[] {
  const made = new Map<string, Made<Change>>();
  for (const change of all)
    made.set(nameOf(change), { first: made.get(nameOf(change))?.first ?? change, last: change });
  return [...made.values()];
}

/** Null: a text is not kept any more, or is none. */
async function fileLines(made: Made<RecordedChange>, changes: ChangeLog): Promise<string | null> {
  const texts = await changedTexts(made, changes);
  return texts === null ? null : previewOf(texts.before, texts.after);
}

/** A job with a line for each of its facts. */
function spread(job: string | null): string {
  return job === null ? '' : JSON.stringify(JSON.parse(job), null, 2);
}

function shown(lines: string | null, redact: (text: string) => string): string | null {
  return lines === null ? null : cut(redact(lines), LONGEST);
}
