import { rebuildRequest } from '../../core/agent/turn/rebuild-request.ts';
import type { Providers } from '../../core/providers/registry.ts';
import type { CallRecord, TapeEntry } from '../../core/session/entry.ts';
import type { TraceLine } from './trace-file.ts';

/** A model call that the tape of a turn records. */
export interface RecordedCall {
  /** Id of its entry. */
  readonly note: string;
  readonly call: CallRecord;
}

/** The model calls of a turn, oldest first. */
export function callsOf(entries: readonly TapeEntry[], turn: string): readonly RecordedCall[] {
  return entries.flatMap((entry) =>
    entry.kind === 'note' && entry.turn === turn && entry.call !== undefined
      ? [{ note: entry.id, call: entry.call }]
      : [],
  );
}

/**
 * Builds the body of a request from the lines of a trace, without network and home. A sentence in `reason` where the
 * lines do not hold what it needs.
 */
export async function rebuildFromLines(
  { call, attempt }: { readonly call: CallRecord; readonly attempt: number },
  lines: readonly TraceLine[],
  body: Providers['body'],
): Promise<{ readonly body: string } | { readonly reason: string }> {
  const parts = new Map(lines.flatMap((line) => (line.kind === 'part' ? [[line.hash, line.text]] : [])));
  const images = new Map(lines.flatMap((line) => (line.kind === 'image' ? [[line.hash, line.data]] : [])));
  const entries = lines.flatMap((line) => (line.kind === 'entry' ? [line.entry] : [])).toReversed();
  let built: string | null = null;
  const rebuilt = await rebuildRequest(call, attempt, {
    // oxlint-disable-next-line require-await -- a tape in memory
    backwards: async function* () {
      yield* entries;
    },
    promptParts: { read: async (hash) => parts.get(hash) },
    image: (hash) => {
      const data = images.get(hash);
      if (data === undefined) return undefined;
      return { size: Buffer.byteLength(data, 'base64'), read: async () => data };
    },
    body: async (provider, request) => {
      built = await body(provider, request);
      return built;
    },
  });
  // Secrets are taken out of the lines, so the body may differ from the one that was sent.
  if (built !== null) return { body: built };
  return { reason: rebuilt.ok ? 'This request cannot be rebuilt: its provider sends none.' : rebuilt.reason };
}
