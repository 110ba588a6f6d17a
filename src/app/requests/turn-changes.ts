import { readFile, realpath, stat } from 'node:fs/promises';
import { relative } from 'node:path';
import type { ReceiptItem } from '../../agent/receipt/receipt.ts';
import type { TurnChange } from '../../gateway/operations/traces.ts';
import type { TurnRecord } from '../../journal/turn-records.ts';
import { sha256, type ChangeLog, type RecordedChange } from '../../storage/change-log.ts';
import { previewOf } from '../../tools/files/change-preview.ts';
import { decodeText } from '../../tools/files/file-text.ts';
import { cut } from '../../util/text.ts';

/** Files and jobs of a turn whose lines are shown, bytes of a text that are compared, and characters of what is shown of each. */
const MOST = 50;
const MOST_BYTES = 1024 * 1024;
const LONGEST = 20_000;

export interface ChangesPorts {
  readonly changes: Pick<ChangeLog, 'of' | 'jobsOf' | 'copy'>;
  /** Absolute. */
  readonly workspace: string;
  readonly redact: (text: string) => string;
}

/**
 * The lines that a turn changed in files and jobs, each thing once, from its first to its last change. Taken from what is kept
 * for /undo, so after 90 days there are none.
 */
export async function turnChanges(
  { session, id }: Pick<TurnRecord, 'session' | 'id'>,
  did: readonly ReceiptItem[],
  { changes, workspace, redact }: ChangesPorts,
): Promise<readonly TurnChange[]> {
  // A change is recorded before it is made; a call inside another has an id that begins with that of the outer one.
  const isDone = ({ call }: { readonly call: string }): boolean =>
    // A turn of an older version says nothing of what it did.
    did.length === 0 ||
    did.some(({ callId, outcome }) => outcome === 'done' && (call === callId || call.startsWith(`${callId}.`)));
  const [files, jobs] = await Promise.all([changes.of(session, id), changes.jobsOf(session, id)]);
  const root = await realpath(workspace).catch(() => workspace);
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
async function fileLines(
  { first, last }: Made<RecordedChange>,
  changes: ChangesPorts['changes'],
): Promise<string | null> {
  const textWith = async (hash: string | null): Promise<string | null> =>
    hash === null ? null : textOf(await changes.copy(hash));
  const before = first.before === null ? '' : await textWith(first.before.hash);
  const { path, after: hash } = last;
  const after = hash === null ? '' : ((await textWith(hash)) ?? textOf(await presentText(path, hash)));
  return before === null || after === null ? null : previewOf(before, after);
}

/** The file as it is, if it still has this content. */
async function presentText(path: string, hash: string): Promise<Buffer | undefined> {
  try {
    if ((await stat(path)).size > MOST_BYTES) return undefined;
    const bytes = await readFile(path);
    return sha256(bytes) === hash ? bytes : undefined;
  } catch {
    return undefined;
  }
}

function textOf(bytes: Buffer | undefined): string | null {
  if (bytes === undefined || bytes.length > MOST_BYTES) return null;
  const decoded = decodeText(bytes);
  return 'binary' in decoded ? null : decoded.text;
}

/** A job with a line for each of its facts. */
function spread(job: string | null): string {
  return job === null ? '' : JSON.stringify(JSON.parse(job), null, 2);
}

function shown(lines: string | null, redact: (text: string) => string): string | null {
  return lines === null ? null : cut(redact(lines), LONGEST);
}
