import { describe, expect, test } from 'vitest';
import { summarising } from './model.ts';
import { ConsolidationWorld, OWNER } from './world.ts';

const KEY = OWNER.sessionKey;
const LONG = 'and so on '.repeat(60);

type Story = (world: ConsolidationWorld) => Promise<unknown>;

/** Each archives `FACT number 0.` and more, with one model call. */
const STORIES: Readonly<Record<string, { readonly act: Story; readonly turns: number; readonly anchors: number }>> = {
  size: {
    turns: 13,
    act: async (world) => {
      world.consolidation.afterTurn(await world.request());
      await world.idle();
    },
    anchors: 1,
  },
  '/new': {
    turns: 3,
    act: async (world) => {
      await world.consolidation.resetSession(KEY, 'new').catch(() => {});
      await world.idle();
    },
    anchors: 0,
  },
  '/mem': { turns: 4, act: (world) => world.mem('FACT noted.').catch(() => {}), anchors: 1 },
};

async function open(turns: number): Promise<ConsolidationWorld> {
  const world = await ConsolidationWorld.open({ answer: summarising, memory: '- FACT of old.\n' });
  for (let n = 0; n < turns; n += 1) await world.say(`FACT number ${n}.\n${LONG}`, `Noted ${n}. ${LONG}`);
  return world;
}

describe.each(Object.entries(STORIES))('%s, killed at any step', (_name, { act, turns, anchors }) => {
  test('ends at the next start as if nothing had happened', async () => {
    let steps = 1;
    {
      await using world = await open(turns);
      const before = world.doom.steps;
      await act(world);
      steps = world.doom.steps - before;
    }
    expect(steps).toBeGreaterThan(8);
    for (let at = 0; at < steps; at += 1) {
      await using world = await open(turns);
      world.doom.after(at);
      await act(world);
      await world.reopen();
      await world.idle();
      const begun = (await world.history()) !== '';
      // Killed before it was written down that there is something to do: it is done when it is asked for again.
      if (!begun) {
        expect(at).toBeLessThan(3);
        await act(world);
      }
      const where = `killed at step ${at}`;
      expect((await world.history()).split('FACT number 0.'), where).toHaveLength(2);
      expect(await world.memory(), where).toMatch(/^- FACT of old\.\n- FACT number 0\.\n/u);
      expect((await world.memory()).split('FACT number 0.'), where).toHaveLength(2);
      expect(await world.anchors(), where).toHaveLength(anchors);
      expect(world.journal.consolidations.open(), where).toEqual([]);
      const session = await world.sessions.open(KEY);
      expect(JSON.stringify(session.history().messages.slice(1)), where).not.toContain('FACT number 0.');
      const ids = new Set((await world.anchors()).map(({ id }) => id));
      expect(ids.size, where).toBe(anchors);
    }
  });
});
