import type { ListedFact } from '../../core/gateway/operations/memory.ts';
import type { FactRecord } from '../../core/memory/facts/source.ts';
import { endText, sourceText } from '../../core/memory/facts/text.ts';
import type { MemoryStore } from '../../core/memory/files/store.ts';

const MOST_PAST = 200;

/** The facts of MEMORY.md with where they come from; with `past` those that no longer stand there. */
export async function listedFacts(
  memory: Pick<MemoryStore, 'facts' | 'endedFacts'>,
  { past, timezone }: { readonly past: boolean; readonly timezone: string | null },
): Promise<readonly ListedFact[]> {
  if (past) return (await memory.endedFacts(MOST_PAST)).map((record) => listedFact(record.fact, record, timezone));
  return (await memory.facts()).map(({ fact, record }) => listedFact(fact, record, timezone));
}

function listedFact(fact: string, record: FactRecord, timezone: string | null): ListedFact {
  const { how, session, turn, since, ended } = record;
  const source = sourceText(record, timezone);
  return { fact, how, session, turn, since, source, ended: ended && { ...ended, text: endText(record, timezone) } };
}
