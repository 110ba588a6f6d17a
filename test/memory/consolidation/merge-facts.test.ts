import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { headingOf } from '../../../src/core/memory/files/facts.ts';
import { mergeFacts } from '../../../src/core/memory/consolidation/merge-facts.ts';

function lines(...all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}

describe('merging an update into a memory that changed meanwhile', () => {
  const base = lines('# Memory', '', '## Home', '', '- a cat', '- tea', '', '## Work', '', '- a boss');

  test.each([
    [
      'the update alone counts when nothing changed',
      { update: lines('- x', '- y'), current: base },
      lines('- x', '- y'),
    ],
    ['an update that changed nothing changes nothing', { update: base, current: lines('- x') }, lines('- x')],
    [
      'what was added goes after its neighbour, what was removed leaves, the rest stays',
      {
        update: base.replace('- a cat\n', '- a cat\n- a dog\n').replace('- a boss\n', '- a desk\n'),
        current: base.replace('- tea\n', '- tea\n- milk\n'),
      },
      lines('# Memory', '', '## Home', '', '- a cat', '- a dog', '- tea', '- milk', '', '## Work', '', '- a desk'),
    ],
    [
      'a new section comes after the one it follows, with what that one has gained',
      {
        update: base.replace('## Work', '## Travel\n\n- Rome\n\n## Work'),
        current: base.replace('- tea\n', '- tea\n- milk\n'),
      },
      base.replace('- tea\n\n', '- tea\n- milk\n\n## Travel\n\n- Rome\n\n'),
    ],
    [
      'a removed section keeps its heading as long as something new is below it',
      { update: lines('# Memory', '', '## Home', '', '- a cat', '- tea'), current: `${base}- a raise\n` },
      lines('# Memory', '', '## Home', '', '- a cat', '- tea', '', '## Work', '', '- a raise'),
    ],
    [
      'a heading that somebody removed comes back with what is new below it',
      { update: `${base}- a raise\n`, current: lines('# Memory', '', '## Home', '', '- a cat', '- tea', '- milk') },
      lines('# Memory', '', '## Home', '', '- a cat', '- tea', '- milk', '', '## Work', '', '- a raise'),
    ],
    [
      'what both added is there once',
      { update: `${base}- a raise\n`, current: `${base}  - a raise\n` },
      `${base}  - a raise\n`,
    ],
    ['indents are kept', { update: `${base}  - of two\n`, current: `- new\n${base}` }, `- new\n${base}  - of two\n`],
  ])('%s', (_name, { update, current }, merged) => {
    expect(mergeFacts(base, update, current)).toBe(merged);
  });

  test('no fact is lost that the update did not remove, and each new one is there once', () => {
    const line = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 30 }).map((n) => `- fact ${n}`) },
      fc.constantFrom('# Memory', '## A', '## B', '### C', '', '  ', 'plain words', '<!-- note -->'),
    );
    const text = fc.array(line, { maxLength: 25 }).map((all) => all.join('\n'));
    const factsOf = (of: string): readonly string[] =>
      of
        .split('\n')
        .map((raw) => raw.trim())
        .filter((raw) => raw !== '' && headingOf(raw) === undefined);
    fc.assert(
      fc.property(text, text, text, fc.boolean(), (base, update, other, unchanged) => {
        const current = unchanged ? base : other;
        const merged = factsOf(mergeFacts(base, update, current));
        const [before, after] = [new Set(factsOf(base)), new Set(factsOf(update))];
        for (const fact of factsOf(current)) {
          if (!before.has(fact) || after.has(fact)) expect(merged).toContain(fact);
        }
        for (const fact of after) {
          if (!before.has(fact)) expect(merged.filter((other) => other === fact)).toHaveLength(1);
        }
        for (const fact of before) {
          if (!after.has(fact)) expect(merged).not.toContain(fact);
        }
        const known = new Set([...after, ...factsOf(current)]);
        for (const fact of merged) expect(known).toContain(fact);
      }),
      { numRuns: 1_000 },
    );
  });

  test('merging again changes nothing', () => {
    const current = base.replace('- tea\n', '- tea\n- milk\n');
    const update = `${base}- a raise\n## New\n- x\n`;
    const merged = mergeFacts(base, update, current);
    expect(mergeFacts(base, update, merged)).toBe(merged);
  });
});
