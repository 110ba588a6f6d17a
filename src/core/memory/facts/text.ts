import { localTime } from '../../util/time-zone.ts';
import { recordKey } from '../files/facts.ts';
import type { FactRecord } from './source.ts';

/** The beginning of `goneText`. */
const NOTED = /(?:No longer holds|No longer in MEMORY\.md|Written anew): “(?<fact>.+?)” It stood from/u;

/** Where a fact comes from, e.g. `told on 2026-03-04 in telegram:42`. */
export function sourceText(
  { how, session, since }: Pick<FactRecord, 'how' | 'session' | 'since'>,
  timezone: string | null,
): string {
  const day = dayOf(since, timezone);
  switch (how) {
    case 'memory_write':
    case 'consolidation':
      return `told on ${day}${session === null ? '' : ` in ${session}`}`;
    case 'restore':
    case 'undo':
      return `from an earlier version, ${day}`;
    default:
      return `written in the file, ${day}`;
  }
}

/** What became of a fact that no longer stands. */
export function endText({ ended }: Pick<FactRecord, 'ended'>, timezone: string | null): string {
  if (ended === null) return '';
  const until = `until ${dayOf(ended.at, timezone)}`;
  if (ended.replacedBy !== null) return `${until}, then: ${ended.replacedBy}`;
  switch (ended.how) {
    case 'undo':
      return `${until}, taken back`;
    case 'edit':
      return `${until}, removed from the file`;
    default:
      return `${until}, removed`;
  }
}

/** The paragraph of HISTORY.md about a fact that left. Times in milliseconds since 1970. */
export function goneText(
  { fact, since, until, replacedBy }: { fact: string; since: number; until: number; replacedBy: string | null },
  timezone: string | null,
): string {
  const what = `“${fact}” It stood from ${dayOf(since, timezone)} to ${dayOf(until, timezone)}.`;
  if (replacedBy === null) return `No longer in MEMORY.md: ${what}`;
  // A newer one that has all of it may say the same, and more.
  const isAnew = recordKey(replacedBy).includes(recordKey(fact));
  return `${isAnew ? 'Written anew' : 'No longer holds'}: ${what} Now: “${replacedBy}”`;
}

/** The paragraph about facts that stand again because what took their place was taken back. */
export function againText(facts: readonly string[], gone: readonly string[]): string {
  const list = (texts: readonly string[]): string => texts.map((text) => `“${text}”`).join(', ');
  return `Holds again: ${list(facts)}${gone.length === 0 ? '' : ` Taken back: ${list(gone)}`}`;
}

/** The fact of which a paragraph of HISTORY.md, or its beginning, says that it no longer holds. */
export function factNotedAsGone(text: string): string | undefined {
  return NOTED.exec(text)?.groups?.['fact'];
}

function dayOf(at: number, timezone: string | null): string {
  return localTime(at, timezone).date;
}
