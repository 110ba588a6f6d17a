import type { ArchiveReason } from '../journal/archives.ts';
import { LONGEST_SUMMARY, summaryOf } from '../memory/consolidate.ts';
import type { EntryDraft } from '../session/entry.ts';
import type { ArchivePlace } from './archive-place.ts';

/** Of the model's window. */
const SUMMARY_SHARE = 0.05;
const SHORTEST_SUMMARY = 1_000;
const CHARACTERS_PER_TOKEN = 3.6;

/** The anchor that puts a chunk behind a session: the summary in force and what was archived since, with their taint. */
export function anchorOf(
  { stretch, turns, unsummarised }: ArchivePlace,
  facts: {
    readonly id: string;
    readonly upTo: string;
    readonly reason: ArchiveReason;
    /** Of this archive. */
    readonly entries: readonly string[];
    /** Tokens that the model reads. */
    readonly window: number;
  },
): EntryDraft {
  const { id, upTo, reason, entries, window } = facts;
  const longest = Math.max(SHORTEST_SUMMARY, Math.floor(SUMMARY_SHARE * CHARACTERS_PER_TOKEN * window));
  const covered = [...turns, ...(stretch.summary === null ? [] : [stretch.summary])];
  return {
    id,
    kind: 'anchor',
    turn: null,
    summary: summaryOf(
      stretch.summary?.text ?? null,
      [...unsummarised, ...entries],
      Math.min(longest, LONGEST_SUMMARY),
    ),
    upTo,
    reason,
    ...(covered.some((part) => part.untrusted) ? { untrusted: true } : {}),
    ...(covered.some((part) => part.private) ? { private: true } : {}),
  };
}
