import { describe, expect, test } from 'vitest';
import { callCount, iterationsOf, nextStep } from '../../src/core/agent/turn/steps.ts';
import { textsOf } from '../../src/core/agent/turn/answer-text.ts';
import type { EntryDraft, TapeEntry } from '../../src/core/session/entry.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';

let n = 0;
function entry(draft: EntryDraft): TapeEntry {
  n += 1;
  return { v: 1, id: `e${n}`, at: n, ...draft };
}
const turn = 'T';
const start = (): TapeEntry => entry({ kind: 'turn-start', turn, sources: ['m'], role: 'owner', origin: 'user' });
const user = (text = 'hi'): TapeEntry =>
  entry({ kind: 'message', role: 'user', turn, sources: ['m'], content: [{ type: 'text', text }] });
const says = (text: string, ...calls: string[]): TapeEntry =>
  entry({
    kind: 'message',
    role: 'assistant',
    turn,
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map((callId) => ({
        type: 'tool-call' as const,
        callId,
        providerCallId: '',
        name: 'exec',
        arguments: '{}',
      })),
    ],
    provider: 'p',
    model: 'm',
    stopReason: 'stop',
    usage: null,
  });
const result = (callId: string): TapeEntry =>
  entry({ kind: 'message', role: 'tool', turn, callId, name: 'exec', output: 'ok', isError: false });
const intent = (callId: string): TapeEntry => entry({ kind: 'intent', turn, callId, name: 'exec', class: 'effect' });
const end = (): TapeEntry =>
  entry({
    kind: 'turn-end',
    turn,
    outcome: 'answered',
    answer: 'done',
    target: { channel: 'c', chatId: '1' },
    usage: noUsage,
    costUsd: null,
    model: null,
    iterations: 1,
  });

describe('what a turn does next is read from its tape', () => {
  test.each<[string, TapeEntry[], string]>([
    ['an empty turn begins', [], 'begin'],
    ['a turn-start without a message begins', [start()], 'begin'],
    ['a user message asks the model', [start(), user()], 'ask-model'],
    ['an answer without calls finishes', [start(), user(), says('hello')], 'finish'],
    ['calls without results run', [start(), user(), says('', 'T.1')], 'run-calls'],
    ['calls with some results run the rest', [start(), user(), says('', 'T.1', 'T.2'), result('T.1')], 'run-calls'],
    ['results of all calls ask the model', [start(), user(), says('', 'T.1'), result('T.1')], 'ask-model'],
    [
      'a steered message after the results asks the model',
      [start(), user(), says('', 'T.1'), result('T.1'), user()],
      'ask-model',
    ],
    ['a turn with an end is over', [start(), user(), says('hello'), end()], 'ended'],
  ])('%s', (_title, entries, expected) => {
    expect(nextStep(entries).type).toBe(expected);
  });

  test('a call with an intent and no result counts as started, one without as not', () => {
    const step = nextStep([start(), user(), says('', 'T.1', 'T.2'), intent('T.1')]);
    expect(step.type === 'run-calls' && step.calls.map(({ call, started }) => [call.callId, started])).toEqual([
      ['T.1', true],
      ['T.2', false],
    ]);
  });

  test('calls are counted over the whole turn, so that call ids never repeat', () => {
    const entries = [start(), user(), says('', 'T.1', 'T.2'), result('T.1'), result('T.2'), says('', 'T.3')];
    expect([callCount(entries), iterationsOf(entries)]).toEqual([3, 2]);
  });
});

describe('what a turn says', () => {
  const long = 'A long thought. '.repeat(30).trim();

  test('the last non-empty text is the answer', () => {
    expect(textsOf([user(), says('one', 'T.1'), result('T.1'), says('two')])).toEqual({ parts: [], answer: 'two' });
  });

  test('an empty end after a text is a complete turn', () => {
    expect(textsOf([user(), says('one', 'T.1'), result('T.1'), says('')]).answer).toBe('one');
  });

  test('earlier texts of more than 300 characters go before the answer', () => {
    expect(textsOf([user(), says(long, 'T.1'), result('T.1'), says('two')])).toEqual({ parts: [long], answer: 'two' });
  });

  test('a text that equals the answer, white space aside, is said once', () => {
    const spaced = long.replaceAll(' ', '  ');
    expect(textsOf([user(), says(long, 'T.1'), result('T.1'), says(spaced)])).toEqual({ parts: [], answer: spaced });
  });
});
