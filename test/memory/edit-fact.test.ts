import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editFact, type FactChange } from '../../src/core/memory/files/edit-fact.ts';
import { factLines } from '../../src/core/memory/files/facts.ts';

const MEMORY = `# Memory

<!-- Lasting facts:
likes hidden things -->

- is called Ming
- likes green tea
- likes tea

## Work

1. has a boss called Ann
* writes C++
`;

function edited(change: FactChange): string {
  return editFact(MEMORY, change).text;
}

describe('adding a fact', () => {
  test.each([
    ['to the end of what stands below the title', { fact: 'has a cat' }, '- likes tea\n- has a cat\n\n## Work'],
    ['to a section, named in any case', { fact: 'is tired', section: '# work' }, '* writes C++\n- is tired\n'],
    ['to a new section', { fact: 'Rome', section: 'Travel' }, '* writes C++\n\n## Travel\n\n- Rome\n'],
    ['on one line', { fact: ' - has\n\n## a\tcat ' }, '- likes tea\n- has ## a cat\n'],
    ['never as a heading', { fact: '## cat' }, '\n- cat\n'],
    ['without hiding what follows', { fact: 'x <!-- y' }, '\n- x <! -- y\n'],
  ])('puts it %s', (_name, change, piece) => {
    expect(edited(change)).toContain(piece);
    expect(editFact(MEMORY, change).outcome).toBe('added');
  });

  test.each([
    ['', '# Memory\n\n- a\n'],
    ['\n\n', '# Memory\n\n- a\n'],
    ['# Memory\n', '# Memory\n\n- a\n'],
    ['# Memory\n\n<!-- note -->\n', '# Memory\n\n<!-- note -->\n\n- a\n'],
    ['## Work\n- x\n', '- a\n\n## Work\n- x\n'],
    ['plain', 'plain\n- a'],
  ])('works in the memory %j', (text, after) => {
    expect(editFact(text, { fact: 'a' }).text).toBe(after);
  });

  test.each(['likes tea', 'LIKES  TEA', '- likes tea', 'has a boss called Ann'])(
    'that is there changes nothing: %s',
    (fact) => {
      expect(editFact(MEMORY, { fact, section: 'Other' })).toMatchObject({ outcome: 'unchanged', text: MEMORY });
    },
  );

  test('that stands in a comment adds it', () => {
    expect(editFact(MEMORY, { fact: 'likes hidden things' }).outcome).toBe('added');
  });
});

describe('changing a fact', () => {
  test('keeps its place and its mark', () => {
    const text = edited({ replaces: 'boss', fact: 'is the boss' });
    expect(text).toBe(MEMORY.replace('1. has a boss called Ann', '1. is the boss'));
  });

  test('takes a line that is nothing but the words before lines that contain them', () => {
    expect(edited({ replaces: 'LIKES tea', fact: 'likes milk' })).toBe(MEMORY.replace('- likes tea', '- likes milk'));
  });

  test.each([
    ['the start of a comment', 'x <!-- y', 'x <!-- y'],
    ['a whole comment', 'x <!-- y --> z', 'X <!-- y --> z'],
    ['the end of a comment', 'x --> y', 'x --> y'],
    ['a list mark', '- - x', '- x'],
    ['a heading', '## x y', '## x y'],
    ['emphasis', 'likes **green** apples', 'likes green apples'],
    ['code', 'runs `npm test` first', 'runs npm test first'],
    ['quotation marks', 'is called “Bo”', 'is called "Bo"'],
    ['a line break', 'lives in\nRome', 'lives in\nRome'],
  ])('finds a fact with %s by its own words', (_name, fact, replaces) => {
    const { text } = editFact(MEMORY, { fact });
    expect(editFact(text, { fact: 'is new', replaces })).toMatchObject({ outcome: 'changed', fact: 'is new' });
    expect(editFact(text, { fact: '', replaces })).toMatchObject({ outcome: 'removed' });
    expect(editFact(text, { fact })).toMatchObject({ outcome: 'unchanged' });
  });

  test('finds a line that a person wrote with a comment in it', () => {
    const text = `${MEMORY}- has a dog <!-- since May -->\n`;
    const change = { fact: 'has two dogs', replaces: 'has a dog <!-- since May -->' };
    expect(editFact(text, change)).toMatchObject({ outcome: 'changed' });
    expect(editFact(text, { fact: 'has a dog <!-- since May -->' })).toMatchObject({ outcome: 'unchanged' });
  });

  test('moves it when it belongs under another heading', () => {
    expect(edited({ replaces: 'Ming', fact: 'is called Mia', section: 'Work' })).toBe(
      `${MEMORY.replace('- is called Ming\n', '')}- is called Mia\n`,
    );
  });

  test('again changes nothing, also when the words fit another line by then', () => {
    const change = { replaces: 'likes tea', fact: 'likes milk' };
    const after = edited(change);
    expect(editFact(after, change)).toMatchObject({ outcome: 'unchanged', text: after });
    const short = { replaces: 'tea', fact: 'coffee' };
    const once = editFact('- tea\n- green tea\n', short).text;
    expect(once).toBe('- coffee\n- green tea\n');
    expect(editFact(once, short).text).toBe(once);
  });

  test('into one that is there leaves both lines', () => {
    expect(editFact(MEMORY, { replaces: 'boss', fact: 'likes tea' })).toMatchObject({
      outcome: 'unchanged',
      text: MEMORY,
    });
  });
});

describe('removing a fact', () => {
  test('takes its line out', () => {
    expect(editFact(MEMORY, { fact: '', replaces: 'green' })).toEqual({
      outcome: 'removed',
      fact: 'likes green tea',
      text: MEMORY.replace('- likes green tea\n', ''),
    });
  });

  test('takes out every line that says the same', () => {
    expect(editFact('- a b\n- c\n* A  b\n', { fact: '', replaces: 'a b' })).toMatchObject({ text: '- c\n' });
  });
});

describe('words that do not name one line', () => {
  test('are answered with the lines that have them', () => {
    expect(editFact(MEMORY, { fact: 'x', replaces: 'likes' })).toEqual({
      outcome: 'ambiguous',
      candidates: ['likes green tea', 'likes tea'],
      text: MEMORY,
    });
  });

  test('are answered with the lines that come close', () => {
    expect(editFact(MEMORY, { fact: '', replaces: 'tea (green)' })).toEqual({
      outcome: 'no-match',
      candidates: ['likes green tea', 'likes tea'],
      text: MEMORY,
    });
  });

  test.each(['Memory', 'hidden', '##', 'Work'])('headings and comments are no lines to change: %s', (replaces) => {
    expect(editFact(MEMORY, { fact: '', replaces }).outcome).toBe('no-match');
  });
});

test('whatever is written, every other fact stays', () => {
  const word = fc.constantFrom('tea', 'cat', '## x', '<!--', '-->', '\n', '- ', ' ', '# ', 'é', '1. ');
  const words = fc.array(word, { maxLength: 6 }).map((all) => all.join(''));
  const change = fc.record({ fact: words, section: words, replaces: fc.option(words, { nil: undefined }) });
  fc.assert(
    fc.property(change, ({ fact, section, replaces }) => {
      fc.pre(fact.trim() !== '' || (replaces ?? '').trim() !== '');
      const { text, ...done } = editFact(MEMORY, { fact, section, ...(replaces === undefined ? {} : { replaces }) });
      const facts = (of: string): readonly string[] => factLines(of).map((line) => line.fact);
      const lost = facts(MEMORY).filter((old) => !facts(text).includes(old));
      const gained = facts(text).filter((line) => !facts(MEMORY).includes(line));
      expect(lost.length).toBeLessThanOrEqual(done.outcome === 'changed' || done.outcome === 'removed' ? 1 : 0);
      expect(gained.length).toBeLessThanOrEqual(1);
    }),
    { numRuns: 1_000 },
  );
});
