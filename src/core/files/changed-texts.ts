import { readFile, stat } from 'node:fs/promises';
import { sha256, type ChangeLog, type RecordedChange } from '../storage/change-log.ts';
import { decodeText } from './text.ts';

/** Bytes of a text that is compared. */
const MOST_BYTES = 1024 * 1024;

/** A file before and after; '' where there was none or is none. */
export interface ChangedTexts {
  readonly before: string;
  readonly after: string;
}

/** What a file was before its first change and after its last. Null: a text is not kept any more, or is none. */
export async function changedTexts(
  { first, last }: { readonly first: RecordedChange; readonly last: RecordedChange },
  changes: Pick<ChangeLog, 'copy'>,
): Promise<ChangedTexts | null> {
  const textWith = async (hash: string | null): Promise<string | null> =>
    hash === null ? null : textOf(await changes.copy(hash));
  const before = first.before === null ? '' : await textWith(first.before.hash);
  const { path, after: hash } = last;
  const after = hash === null ? '' : ((await textWith(hash)) ?? textOf(await presentText(path, hash)));
  return before === null || after === null ? null : { before, after };
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
