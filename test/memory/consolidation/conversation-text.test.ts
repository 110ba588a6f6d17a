import { describe, expect, test } from 'vitest';
import { copyOf, rawEntries, rawSummary, summaryOf } from '../../../src/core/memory/consolidation/conversation-text.ts';
import { endedTurns, type TurnSpan } from '../../../src/core/memory/consolidation/session-span.ts';
import type { EntryDraft } from '../../../src/core/session/entry.ts';
import { assistant, plainTurn, result, stamp, turnEnd, turnStart, user } from '../../session/tapes.ts';

const turn = (...drafts: readonly EntryDraft[]): TurnSpan => {
  const [first] = endedTurns({ entries: stamp([turnStart('t'), ...drafts, turnEnd('t')]) });
  if (first === undefined) throw new Error('no turn');
  return first;
};

describe('the copy of a turn', () => {
  test('has what was said, with the facts about it, and calls and results in short', () => {
    const said: EntryDraft = {
      kind: 'message',
      role: 'user',
      turn: 't',
      sources: ['m'],
      content: [
        { type: 'text', text: '<context>\ntime: 2026-01-01 10:00\nfrom: Ada (owner)\n</context>' },
        { type: 'image', mediaType: 'image/png', hash: 'h' },
        { type: 'text', text: 'What is this?\nTell me.' },
        { type: 'text', text: '<skill name="look" folder="/s">\nlong\n</skill>' },
      ],
    };
    const copy = copyOf(
      turn(
        said,
        assistant('t', 'Let me see.', ['c1']),
        result('t', 'c1', 'x'.repeat(5000), { untrusted: true }),
        assistant('t', 'A cat.'),
      ),
    );
    expect(copy.split('\n').map((line) => line.slice(0, 80))).toEqual([
      'user [time: 2026-01-01 10:00; from: Ada (owner)]: [image]',
      'What is this?',
      'Tell me.',
      '[skill look]',
      'assistant: Let me see.',
      'assistant called read_file {}',
      expect.stringMatching(/^read_file gave \(not trusted\): x+$/u),
      'assistant: A cat.',
    ]);
    expect(copy.length).toBeLessThan(900);
  });

  test.each([1_000, 5_000, 50_000])('stays within %i bytes, and keeps beginning and end', (most) => {
    const long = (mark: string): string => `first ${mark} ${'wörter '.repeat(20_000)} last ${mark}`;
    const copy = copyOf(turn(user('t', long('asked')), assistant('t', long('said'))), { most });
    expect(Buffer.byteLength(copy)).toBeLessThanOrEqual(most);
    expect(copy).toContain('first asked');
    expect(copy).toContain('last said');
  });
});

describe('without a model', () => {
  const turns = Array.from({ length: 12 }, (_, n) => plainTurn(`t${n}`, `question ${n}`, `answer ${n}`));
  const spans = endedTurns({ entries: stamp(turns.flat()) });

  test('the turns go into the log one by one, at their time', () => {
    const entries = rawEntries(spans);
    expect(entries).toHaveLength(12);
    expect(entries[0]).toEqual({ at: 1003, text: 'user: question 0\nassistant: answer 0' });
  });

  test('the summary says how many there were and how the last began', () => {
    const summary = rawSummary(spans);
    expect(summary).toMatch(/^12 exchanges went into memory\/HISTORY\.md/u);
    expect(summary).toContain('- question 11');
    expect(summary).not.toContain('- question 3\n');
    expect(rawSummary(spans.slice(0, 1))).toMatch(/^1 exchange went .*They began with:\n- question 0$/u);
  });
});

describe('a summary', () => {
  test('grows to its limit and then loses its oldest paragraphs', () => {
    let summary: string | null = null;
    for (let n = 0; n < 40; n += 1) summary = summaryOf(summary, [`Part ${n}. ${'x'.repeat(400)}`]);
    expect(summary?.length).toBeLessThanOrEqual(8000);
    expect(summary).toMatch(/^\[Older parts .*HISTORY\.md/u);
    expect(summary).toContain('Part 39.');
    expect(summary).not.toContain('Part 3.');
    expect(summary?.match(/Older parts/gu)).toHaveLength(1);
  });

  test('of one long paragraph keeps its end', () => {
    const summary = summaryOf('Before.', [`${'x'.repeat(9000)} the end`]);
    expect(summary.length).toBeLessThanOrEqual(8000);
    expect(summary).toMatch(/the end$/u);
  });
});
