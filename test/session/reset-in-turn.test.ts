import { describe, expect, test } from 'vitest';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { foldHistory, type History } from '../../src/core/session/history.ts';
import { assistant, plainTurn, reset, result, stamp, trim, turnEnd, turnStart, user } from './tapes.ts';

const foldOf = (...drafts: readonly EntryDraft[]): History => foldHistory(stamp(drafts).toReversed());

const BEFORE = [...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2')];
const BEGINNING = [turnStart('t3'), user('t3', 'three'), assistant('t3', 'well', ['t3.1'])];

describe('a reset that a turn asks for', () => {
  test('leaves that turn whole and nothing before it', () => {
    const history = foldOf(...BEFORE, ...BEGINNING, reset({}, 't3'), result('t3', 't3.1', 'done'));
    expect(history.boundary).toBe('reset');
    expect(history.messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool']);
    expect(history.messages[0]?.message).toMatchObject({ content: [{ type: 'text', text: 'three' }] });
  });

  test('keeps the taint it was given while the turn is in the history', () => {
    const tainted = reset({ untrusted: true, private: true }, 't3');
    const later = plainTurn('t4', 'four', '4');
    expect(foldOf(...BEFORE, ...BEGINNING, tainted, turnEnd('t3'), ...later)).toMatchObject({
      untrusted: true,
      private: true,
    });
  });

  test('hides what was before even where the beginning of its turn is damaged', () => {
    const history = foldOf(...BEFORE, ...BEGINNING.slice(1), reset({}, 't3'), result('t3', 't3.1', 'done'));
    expect(history.messages).toHaveLength(3);
  });

  test('twice in a turn is as once', () => {
    const once = foldOf(...BEFORE, ...BEGINNING, reset({}, 't3'), result('t3', 't3.1', 'done'), turnEnd('t3'));
    const twice = foldOf(
      ...BEFORE,
      ...BEGINNING,
      reset({}, 't3'),
      reset({}, 't3'),
      result('t3', 't3.1', 'done'),
      turnEnd('t3'),
    );
    expect(twice.messages.map(({ message }) => message)).toEqual(once.messages.map(({ message }) => message));
  });

  test('keeps a trim of its turn in force', () => {
    const long = 'x'.repeat(500);
    const drafts = [...BEFORE, ...BEGINNING, { ...result('t3', 't3.1', long), id: 'r' }, trim({ stubUpTo: 'r' })];
    const history = foldOf(...drafts, assistant('t3', '', ['t3.2']), reset({}, 't3'), turnEnd('t3'));
    expect(JSON.stringify(history.messages)).not.toContain(long);
  });
});
