import { join } from 'node:path';
import type { App, Contributions } from '../../core/api.ts';
import { knownOf, recordKey, searchByQuestion } from '../../core/api-memory.ts';
import { memoryLayer } from './layer.ts';
import { memorySearchTool, type MemorySearcher } from './search-tool.ts';
import { memoryWriteTool, type FactStore } from './write-tool.ts';

export function openMemory(app: App): Contributions {
  const { memory, changes, config } = app;
  const facts: FactStore = {
    change: (change, { sessionKey, turnId, id: callId }) =>
      memory.change(change, {
        by: { how: 'memory_write', session: sessionKey, turn: turnId },
        record: (made) => changes.recordChange({ sessionKey, turnId, callId, ...made, keepAfter: true }),
      }),
  };
  const { searchResults: results } = config.memory;
  return {
    tools: [
      memoryWriteTool(facts),
      memorySearchTool({ memory: knowingSearch(app), results, timezone: config.agent.timezone }),
    ],
    prompt: [memoryLayer(join(app.paths.workspace, 'memory', 'MEMORY.md'))],
  };
}

/** Searches, and says of what is found in the memory where it comes from. */
function knowingSearch({ search, memory, config, clock }: App): MemorySearcher {
  const { timezone } = config.agent;
  return {
    search: async (query) => {
      const { hits, time } = await searchByQuestion(search, query, { now: clock.now(), timezone });
      if (hits.every(({ source }) => source === 'session')) return { hits, time };
      const facts = await memory.facts().catch(() => []);
      const holding = new Map(facts.map(({ fact, record }) => [recordKey(fact), record]));
      const knowing = hits.map((hit) => {
        const known = knownOf(hit, holding, timezone);
        return known === undefined ? hit : { ...hit, known };
      });
      return { hits: knowing, time };
    },
  };
}
