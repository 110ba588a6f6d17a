import { expect, test } from 'vitest';
import { factText, LearnedFacts, type FactKeeper } from '../../src/core/providers/learned.ts';
import type { ModelFact } from '../../src/core/util/model-fact.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NAME = { provider: 'local', model: 'qwen' };

function keeper(): FactKeeper & { facts: readonly ModelFact[] } {
  return {
    facts: [],
    all() {
      return this.facts;
    },
    async keep(fact) {
      this.facts = [...this.facts.filter(({ name }) => name !== fact.name), fact];
    },
    async forget(model) {
      this.facts = this.facts.filter((fact) => fact.model !== model);
    },
  };
}

test('what was learned is there for the next process, each with its date', () => {
  const kept = keeper();
  const clock = new VirtualClock();
  const first = new LearnedFacts({ clock, keeper: kept });
  first.learnQuirk(NAME, 'no stream_options');
  first.learnQuirk(NAME, 'fewer output tokens=9000');
  first.learnQuirk(NAME, 'fewer output tokens=8000');
  first.learnWindow(NAME, 8_192);
  const second = new LearnedFacts({ clock, keeper: kept });
  expect(second.quirks(NAME)).toEqual(['no stream_options', 'fewer output tokens=8000']);
  expect(second.window(NAME)).toBe(8_192);
  expect(second.of('local/qwen').map(factText)).toEqual([
    'no stream_options',
    'fewer output tokens: 8,000',
    'a window of 8,192 tokens',
  ]);
  expect(second.of('local/qwen').every(({ at }) => at === clock.now())).toBe(true);
});

test('what belongs to one conversation is not remembered', () => {
  const learned = new LearnedFacts({ clock: new VirtualClock() });
  learned.learnQuirk(NAME, 'no thinking in earlier answers');
  expect(learned.of('local/qwen')).toEqual([]);
});

test('another model or version of the server begins anew', () => {
  const kept = keeper();
  const learned = new LearnedFacts({ clock: new VirtualClock(), keeper: kept });
  learned.served(NAME, { id: 'b1', hasTools: true });
  learned.learnWindow(NAME, 8_192);
  learned.served(NAME, { id: 'b1', hasTools: true });
  expect(learned.window(NAME)).toBe(8_192);
  learned.served(NAME, { id: 'b2', hasTools: true });
  expect(learned.window(NAME)).toBeNull();
  expect(kept.facts.map(({ name }) => name)).toEqual(['server']);
});

test('a template without tools is told once, and gets none from then on', () => {
  const learned = new LearnedFacts({ clock: new VirtualClock() });
  learned.served(NAME, { id: 'b1', hasTools: false });
  expect(learned.quirks(NAME)).toEqual(['no tools']);
  expect(learned.takeNote(NAME)).toMatch(/can't use tools here/u);
  expect(learned.takeNote(NAME)).toBeNull();
});
