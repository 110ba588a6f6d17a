import type { MemoryHit } from '../search/retriever.ts';
import { recordKey } from '../files/facts.ts';
import type { FactRecord } from './source.ts';
import { factNotedAsGone, sourceText } from './text.ts';

/** What is known of a hit in the memory beyond its words; undefined: nothing. `holding` as in `FactRecords`. */
export function knownOf(
  { source, snippet }: Pick<MemoryHit, 'source' | 'snippet'>,
  holding: ReadonlyMap<string, FactRecord>,
  timezone: string | null,
): string | undefined {
  switch (source) {
    case 'memory': {
      const record = holding.get(recordKey(snippet)) ?? recordWith(snippet, holding);
      return record === undefined ? undefined : sourceText(record, timezone);
    }
    case 'history': {
      const gone = factNotedAsGone(snippet);
      const again = gone === undefined ? undefined : holding.get(recordKey(gone));
      return again === undefined ? undefined : `it holds again: ${sourceText(again, timezone)}`;
    }
    case 'session':
      return undefined;
  }
}

/** The record of a fact of which a long line shows a part. */
function recordWith(snippet: string, holding: ReadonlyMap<string, FactRecord>): FactRecord | undefined {
  if (!snippet.startsWith('…') && !snippet.endsWith('…')) return undefined;
  const part = recordKey(snippet.replace(/^…|…$/gu, ''));
  return [...holding].find(([key]) => key.includes(part))?.[1];
}
