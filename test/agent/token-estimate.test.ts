import { describe, expect, test } from 'vitest';
import {
  Calibration,
  HistorySizes,
  IMAGE_TOKENS,
  tokensOfMessage,
} from '../../src/core/agent/context/token-estimate.ts';
import { foldHistory } from '../../src/core/session/history.ts';
import { assistant, plainTurn, result, stamp, trim, turnStart, user } from '../session/tapes.ts';

const fold = (drafts: Parameters<typeof stamp>[0]): ReturnType<typeof foldHistory> =>
  foldHistory(stamp(drafts).toReversed());

describe('the size of a message', () => {
  test('goes by bytes, not by characters', () => {
    const size = (text: string): number => tokensOfMessage({ role: 'user', content: [{ type: 'text', text }] });
    expect(size('x'.repeat(3600))).toBe(1004);
    expect(size('日'.repeat(1200))).toBe(1004);
  });

  test('counts an image as an image, however many bytes it has', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'A'.repeat(1_000_000) } as const;
    expect(tokensOfMessage({ role: 'user', content: [image] })).toBeLessThan(IMAGE_TOKENS + 10);
  });
});

describe('the sizes of a history', () => {
  test('are those of its messages, also after it grew, was trimmed or lost its beginning', () => {
    const sizes = new HistorySizes();
    const long = 'x'.repeat(5000);
    const drafts = [
      ...plainTurn('t1', 'one', 'first'),
      turnStart('t2'),
      user('t2', 'two'),
      assistant('t2', '', ['c1', 'c2']),
      result('t2', 'c1', long),
    ];
    const steps = [
      drafts,
      [...drafts, result('t2', 'c2', 'short'), user('t2', 'and?')],
      [...drafts, result('t2', 'c2', 'short'), trim({ stubUpTo: 'e7' })],
      [...drafts, result('t2', 'c2', 'short'), trim({ dropUpTo: 'end-t1' })],
      [...drafts, result('t2', 'c2', 'short'), trim({ dropUpTo: 'end-t1' }), user('t2', long)],
    ];
    for (const step of steps) {
      const history = fold(step);
      const expected = history.messages.map(({ message }) => tokensOfMessage(message));
      const measured = sizes.measure(history);
      expect(measured.sizes).toEqual(expected);
      expect(measured.total).toBe(expected.reduce((sum, size) => sum + size, 0));
    }
  });
});

describe('calibration', () => {
  test('takes over what the provider counted last, per model and within bounds', () => {
    const calibration = new Calibration();
    expect(calibration.ratio('a/b')).toBe(1);
    calibration.observe('a/b', 2000, 1600);
    calibration.observe('c/d', 2000, 7900);
    expect([calibration.ratio('a/b'), calibration.ratio('c/d')]).toEqual([0.8, 2.5]);
    calibration.observe('a/b', 2000, 2200);
    expect(calibration.ratio('a/b')).toBe(1.1);
  });

  test('learns nothing from short prompts, from nonsense, and from a prompt that was cut', () => {
    const calibration = new Calibration();
    calibration.observe('a/b', 100, 190);
    calibration.observe('a/b', 2000, 10);
    expect(calibration.observe('a/b', 10_000, 4096)).toBe(true);
    expect(calibration.ratio('a/b')).toBe(1);
  });

  test('does not suspect a tokenizer that was seen to be thrifty before', () => {
    const calibration = new Calibration();
    expect(calibration.observe('a/b', 2500, 1250)).toBe(false);
    expect(calibration.observe('a/b', 10_000, 5200)).toBe(false);
    expect(calibration.observe('a/b', 10_000, 3000)).toBe(true);
  });
});
