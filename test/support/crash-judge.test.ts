import { describe, expect, test } from 'vitest';
import { answered } from './crash-talk.ts';
import { judgeEffects, judgeTexts, type Evidence, type Verdict } from './crash-judge.ts';

const LOST =
  'An earlier message here may not have reached you: it was sent twice and never confirmed. It began: “one.”.';

function judge(evidence: Partial<Evidence>): Verdict {
  return judgeTexts({
    asked: [],
    texts: [],
    answered: (text) =>
      /^(?:\w+\. ?)+$/u.test(text)
        ? text
            .split('.')
            .map((name) => name.trim())
            .filter(Boolean)
        : [],
    gaveUp: (text) => Array.from(text.matchAll(/gave up (\w+)/gu), ([, name = '']) => name),
    told: [],
    uncertain: [],
    ...evidence,
  });
}

const UNHARMED = { lost: [], doubled: [], tripled: [], wrongMarks: [] };

describe('lost is', () => {
  test('what nobody heard of', () => {
    expect(judge({ asked: ['one', 'two'], texts: ['one.'] })).toMatchObject({
      ...UNHARMED,
      lost: ['two'],
      answered: 1,
    });
  });

  test.each<readonly [string, Partial<Evidence>]>([
    ['answered beside another', { texts: ['zero. one.'] }],
    ['answered by a marked copy alone', { texts: ['↻ one.'], uncertain: ['one.'] }],
    ['given up with a notice', { texts: ['I gave up one'] }],
    ['given up with a marked notice', { texts: ['↻ I gave up one'], uncertain: ['I gave up one'] }],
    ['told of as undelivered', { told: ['one.'] }],
  ])('nothing that was %s', (_, evidence) => {
    expect(judge({ asked: ['one'], ...evidence })).toMatchObject(UNHARMED);
  });

  test('nothing that was told of as undelivered with a line on the command that was cut off', () => {
    const lost = 'answer 1. la la end 1. answer 2.\n\nCut off, so it may or may not be done: `echo 1 >> x; sync`.';
    expect(judge({ asked: ['answer 1', 'end 1', 'answer 2'], answered, told: [lost] })).toMatchObject(UNHARMED);
  });

  test('what only a notice quotes that the journal knows nothing of', () => {
    expect(judge({ asked: ['one'], texts: [LOST] }).lost).toEqual(['one']);
  });
});

describe('doubled is', () => {
  test('what came twice without a mark', () => {
    expect(judge({ asked: ['one'], texts: ['one.', 'one.'] }).doubled).toEqual(['one']);
    expect(judge({ asked: ['one'], texts: ['one.', 'zero. one.'] }).doubled).toEqual(['one']);
  });

  test.each(['', '↻ '])('nothing that a notice quotes (%j)', (mark) => {
    const texts = ['one.', '↻ one.', `${mark}${LOST}`];
    expect(judge({ asked: ['one'], texts, uncertain: ['one.', LOST] })).toMatchObject({ ...UNHARMED, answered: 1 });
  });
});

test('tripled is what came as more than one marked copy', () => {
  const texts = ['one.', '↻ one.', '↻ one.'];
  expect(judge({ asked: ['one'], texts, uncertain: ['one.'] })).toMatchObject({
    ...UNHARMED,
    tripled: ['one'],
    marks: 2,
  });
});

describe('wrongly marked is', () => {
  test('what was sent as no process ended', () => {
    expect(judge({ texts: ['↻ one.'], uncertain: ['two.'] }).wrongMarks).toEqual(['one.']);
  });

  test('also when a part without a text, as that of a preview, was on its way', () => {
    expect(judge({ texts: ['↻ one.'], uncertain: [''] }).wrongMarks).toEqual(['one.']);
  });

  test('not when a shorter text was', () => {
    expect(judge({ texts: ['↻ one. two.'], uncertain: ['one.'] }).wrongMarks).toEqual(['one. two.']);
  });

  test.each([
    ['as HTML', '<b>one</b> &amp; <code>&lt;two&gt;</code>', '↻ one & <two>'],
    ['as Markdown', 'one & `<two>`', '↻ one & <two>'],
    ['as all of it, of which a part was sent', 'zero.\n\none.', '↻ one.'],
  ])('nothing whose text is known %s', (_, uncertain, text) => {
    expect(judge({ texts: [text], uncertain: [uncertain] }).wrongMarks).toEqual([]);
  });
});

test('effects are repeated, or missing without an explanation', () => {
  expect(judgeEffects({ asked: ['one', 'two', 'three'], done: ['one', 'zero', 'one'], explained: ['two'] })).toEqual({
    repeatedEffects: ['one'],
    missingEffects: ['three'],
  });
});
