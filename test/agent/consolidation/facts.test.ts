import { describe, expect, test } from 'vitest';
import { block, summarising, type Answering } from './model.ts';
import { ConsolidationWorld, OWNER } from './world.ts';

/** Every fifth turn of 200 says something that must not be lost. */
const FACTS = Array.from(
  { length: 40 },
  (_, n) => `FACT the box ${n} holds ${['tea', 'salt', 'ink', 'wool'][n % 4]} no. ${n * 37}.`,
);

const DOUBLES: Readonly<Record<string, (calls: { n: number }) => Answering>> = {
  'that fails most of the time': () => () => ({ error: 'overloaded', message: 'Try again later.' }),
  'that refuses the choice of a tool and writes plain text': () => (request) =>
    request.tools.length > 0
      ? { error: 'unsupported-tool-choice', message: 'tool_choice is not supported' }
      : { text: `Log: ${(block(request, 'conversation').match(/FACT [^\n]*/gu) ?? []).join(' ')}` },
  'that summarises': () => summarising,
  'that summarises every other time': (calls) => (request) =>
    (calls.n += 1) % 2 === 0 ? summarising(request) : { text: '' },
};

describe.each(Object.entries(DOUBLES))('a model %s', (_name, double) => {
  test('loses none of 40 facts in 200 turns', async () => {
    await using world = await ConsolidationWorld.open({ answer: double({ n: 0 }), memory: '# Memory\n' });
    for (let turn = 0; turn < 200; turn += 1) {
      const fact = turn % 5 === 0 ? `${FACTS[turn / 5]}\n` : '';
      await world.say(`${fact}${'What do you think? '.repeat(8)}`, 'I think so. '.repeat(12));
      await world.afterTurn();
      const request = await world.request();
      await world.consolidation.beforeTurn(request);
      // As before a turn's first model call.
      await world.context.fit({ ...request, turnId: 'next' });
    }
    await world.consolidation.resetSession(OWNER.sessionKey, 'new');
    for (let tries = 0; tries < 3; tries += 1) {
      await world.idle();
      await world.reopen();
    }
    await world.idle();
    expect(world.journal.consolidations.open()).toEqual([]);
    const kept = (await world.memory()) + (await world.history());
    expect(FACTS.filter((fact) => !kept.includes(fact))).toEqual([]);
  }, 180_000);
});
