import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { startWorld } from '../support/world.ts';
import { DOUBLES, FILLER, note, say, SESSION } from './memory-world.ts';

describe.each(Object.entries(DOUBLES))('a long conversation, consolidated by a %s model', (name, double) => {
  test('loses none of 40 planted facts in 200 turns, and memory_search finds each', { timeout: 90_000 }, async () => {
    await using world = await startWorld({ config: { agent: { contextWindow: 24_000, maxOutputTokens: 1_000 } } });
    world.model.setAside(double);
    world.model.setHandler((request) => ({ text: `Answer to ${request.index}. ${FILLER.slice(0, 120)}`, usage: null }));
    const facts: string[] = [];
    let slowest = 0;
    for (let turn = 0; turn < 200; turn += 1) {
      const fact = turn % 5 === 0 ? `fact ${turn} is ${['oak', 'elm', 'fir'][turn % 3] ?? ''}-${turn * 7}` : '';
      if (fact !== '') facts.push(fact);
      const began = performance.now();
      await say(world, `Turn ${turn}. ${fact} ${FILLER}`);
      slowest = Math.max(slowest, performance.now() - began);
    }
    expect(facts).toHaveLength(40);
    // What is left in the conversation goes into memory too.
    await say(world, '/new');
    const missing = async (): Promise<readonly string[]> => {
      const kept = `${await note(world, 'MEMORY.md')}\n${await note(world, 'HISTORY.md')}`;
      return facts.filter((fact) => !kept.includes(fact));
    };
    if (name === 'failing') {
      // Each start tries what is pending once more; the third failure of a part writes its words themselves.
      for (let start = 1; start <= 12 && (await missing()).length > 0; start += 1) {
        const asides = world.model.asides.length;
        await world.restart();
        await waitFor(() => world.model.asides.length > asides);
        // Until the failure is written down.
        await new Promise((resolve) => setTimeout(resolve, 150));
      }
    }
    await waitFor(async () => (await missing()).length === 0, { timeoutMs: 20_000 }).catch(() => {});
    expect(await missing()).toEqual([]);
    if (name === 'summarising') {
      await waitFor(async () => (await note(world, 'MEMORY.md')).includes(facts.at(-1) ?? ''));
      const memory = await note(world, 'MEMORY.md');
      expect(facts.filter((fact) => !memory.includes(fact))).toEqual([]);
    }
    for (const fact of facts) {
      const found = await say(world, `,memory_search query="${fact.split(' ').at(-1) ?? ''}" limit=3`);
      expect(found).toContain(fact.split(' ').at(-1));
      expect(found).toMatch(/MEMORY\.md|HISTORY\.md|telegram:42/u);
    }
    // Nobody waited for it: a reply took no longer than an ordinary one under load.
    expect(slowest).toBeLessThan(3_000);
    const anchors = (await world.tape(SESSION)).filter((entry) => entry.kind === 'anchor').length;
    expect(anchors).toBeGreaterThan(0);
    expect(anchors).toBeLessThanOrEqual(10);
  });
});
