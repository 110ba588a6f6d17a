import { describe, expect, test } from 'vitest';
import { memorySearchTool, type MemorySearcher } from '../../src/extensions/memory/search-tool.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { toJsonSchema } from '../../src/core/tools/json-schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

type Found = Awaited<ReturnType<MemorySearcher['search']>>;
type Asked = Parameters<MemorySearcher['search']>[0];

async function call(
  args: unknown,
  context: Partial<TestCall> = {},
  found: Found['hits'] = [],
  time: Found['time'] = null,
): Promise<{ result: ToolResult; asked: readonly Asked[] }> {
  const asked: Asked[] = [];
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: ['memory_search'] },
    clock: systemClock,
    redact: (text) => text,
    maxOutput: 16_000,
  });
  const memory: MemorySearcher = {
    search: async (query) => {
      asked.push(query);
      return { hits: found, time };
    },
  };
  registry.register(memorySearchTool({ memory, results: 6, timezone: 'Europe/Berlin' }));
  const request = { name: 'memory_search', arguments: JSON.stringify(args) };
  const result = await registry.run(request, testToolContext({ role: 'owner', chatType: 'direct', ...context }));
  return { result, asked };
}

describe('memory_search', () => {
  test('shows date, session, speaker and a line of each hit', async () => {
    const { result } = await call({ query: 'zeppelin' }, {}, [
      { source: 'memory', untrusted: false, snippet: '- Likes zeppelins.' },
      { source: 'history', untrusted: false, snippet: '[2026-01-02 10:00] Bought one.' },
      {
        source: 'session',
        session: 'telegram:42',
        at: Date.UTC(2026, 0, 2, 10),
        role: 'user',
        untrusted: false,
        snippet: 'a zeppelin',
      },
    ]);
    expect(result.output.split('\n')).toEqual([
      '- MEMORY.md: - Likes zeppelins.',
      '- HISTORY.md: [2026-01-02 10:00] Bought one.',
      '- 2026-01-02 11:00 telegram:42 (user): a zeppelin',
    ]);
    expect(result).toMatchObject({ private: true, metadata: { found: '3 hits' } });
    expect(result.untrusted).toBeUndefined();
  });

  test('shows the time of a paragraph of HISTORY.md whose beginning the excerpt leaves out', async () => {
    const at = Date.UTC(2026, 0, 2, 10);
    const { result } = await call({ query: 'zeppelin' }, {}, [
      { source: 'history', at, untrusted: false, snippet: '…bought a zeppelin.' },
      { source: 'history', at, untrusted: false, snippet: '[2026-01-02 11:00] Bought one.' },
    ]);
    expect(result.output.split('\n')).toEqual([
      '- 2026-01-02 11:00 HISTORY.md: …bought a zeppelin.',
      '- HISTORY.md: [2026-01-02 11:00] Bought one.',
    ]);
  });

  test('says what is known of a fact', async () => {
    const { result } = await call({ query: 'paris' }, {}, [
      { source: 'memory', untrusted: false, snippet: '- Lives in Paris', known: 'told on 2026-03-14' },
      { source: 'memory', untrusted: false, snippet: '- Likes Paris' },
    ]);
    expect(result.output).toBe('- MEMORY.md (told on 2026-03-14): - Lives in Paris\n- MEMORY.md: - Likes Paris');
  });

  test('asks with every character of the query visible', async () => {
    const search: MemorySearcher['search'] = async () => ({ hits: [], time: null });
    const tool = memorySearchTool({ memory: { search }, results: 6, timezone: null });
    expect(await tool.plan({ query: 'tax\u202Egnp' }, testToolContext({}))).toMatchObject({
      reaches: { action: { kind: 'show-to-group' }, detail: 'what was said or noted about tax\\u{202e}gnp' },
    });
  });

  test('says which time it searched because of the words of the query, and when nothing was of that time', async () => {
    const hit = { source: 'session', session: 's', untrusted: false, snippet: 'x' } as const;
    const week = { since: Date.UTC(2026, 10, 15, 23), until: Date.UTC(2026, 10, 22, 22, 59), isMissed: false };
    const first = async (time: Found['time']): Promise<string | undefined> =>
      (await call({ query: 'x' }, {}, [hit], time)).result.output.split('\n')[0];
    expect(await first(week)).toBe(
      '(Of 2026-11-16 to 2026-11-22, as the query says; use since and until for another time.)',
    );
    expect(await first({ ...week, isMissed: true })).toBe(
      '(Nothing with these words is of 2026-11-16 to 2026-11-22, which the query names; these are of any time.)',
    );
    expect(await first({ since: week.since, isMissed: false })).toContain('(Of the time since 2026-11-16,');
    expect(await first(null)).toBe('- s (unknown): x');
  });

  test('marks what strangers wrote, and says when nothing was found', async () => {
    const hit = { source: 'session', untrusted: true, snippet: 'x' } as const;
    expect((await call({ query: 'x' }, {}, [hit])).result.untrusted).toBe(true);
    expect((await call({ query: 'x' })).result.output).toContain('Nothing was found.');
  });

  test('lets the owner search everywhere in a direct chat, and everybody else and every group only there', async () => {
    const scopeOf = async (context: Partial<TestCall>): Promise<unknown> =>
      (await call({ query: 'x' }, { sessionKey: 'telegram:7', ...context })).asked[0]?.scope;
    expect(await scopeOf({})).toBe('all');
    expect(await scopeOf({ chatType: 'group' })).toEqual(['telegram:7']);
    expect(await scopeOf({ role: 'trusted' })).toEqual(['telegram:7']);
    expect(await scopeOf({ role: 'guest' })).toEqual(['telegram:7']);
  });

  test('takes days and a number of hits, and refuses what is none', async () => {
    const { asked } = await call({ query: 'x', limit: 3, since: '2026-01-02', until: '2026-01-03' });
    expect(asked[0]).toMatchObject({ limit: 3, since: Date.UTC(2026, 0, 1, 12), until: Date.UTC(2026, 0, 4, 12) });
    expect((await call({ query: 'x', since: 'yesterday' })).result.isError).toBe(true);
    expect((await call({})).result.isError).toBe(true);
  });

  test('says how many results there are where the call names no number', () => {
    const { parameters } = memorySearchTool({
      memory: { search: async () => ({ hits: [], time: null }) },
      results: 9,
      timezone: null,
    });
    expect(toJsonSchema(parameters)).toMatchObject({
      properties: { limit: { description: expect.stringContaining('Default: 9.') } },
    });
  });
});
