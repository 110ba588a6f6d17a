import { describe, expect, test } from 'vitest';
import { answeringModel, changedModel, modelsOf, signed } from '../../src/core/agent/turn/answering-model.ts';
import { failureSentence, type FailureContext } from '../../src/core/agent/turn/failure-sentence.ts';
import { afterFailure, asksForRest, lastCallNote, completionOf } from '../../src/core/agent/turn/completion.ts';
import { nextStep } from '../../src/core/agent/turn/steps.ts';
import { textsOf, unfinishedText } from '../../src/core/agent/turn/answer-text.ts';
import { unusableModel } from '../../src/core/assistant/models.ts';
import type { ModelError, ModelErrorKind } from '../../src/core/providers/provider.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { asks, entries, gives, note, says } from './turn-entries.ts';

/** Follows a turn whose model says these things one after the other; returns the types of the steps between them. */
function follow(answers: readonly EntryDraft[], maxIterations = 40): readonly string[] {
  const drafts: EntryDraft[] = [asks()];
  const steps: string[] = [];
  for (const answer of answers) {
    drafts.push(answer);
    const step = nextStep(entries(...drafts), { maxIterations });
    steps.push(step.type === 'finish' ? step.outcome : step.type);
    if (step.type === 'say') drafts.push(note(step.text));
  }
  return steps;
}

const empty = says('');
const cut = (text: string): EntryDraft => says(text, { stopReason: 'length' });

describe('what follows an answer without calls', () => {
  test.each<[string, EntryDraft[], string[]]>([
    ['a text is the end', [says('hello')], ['answered']],
    [
      'an empty answer is asked for again, then in words, then given up',
      [empty, empty, empty],
      ['ask-model', 'say', 'failed'],
    ],
    ['white space is empty', [says(' \n'), says('hello')], ['ask-model', 'answered']],
    ['a text after an empty answer is the end', [empty, empty, says('hello')], ['ask-model', 'say', 'answered']],
    ['a cut-off text is continued three times', ['a', 'b', 'c', 'd'].map(cut), ['say', 'say', 'say', 'answered']],
    ['an empty continuation is the end', [cut('a'), empty], ['say', 'answered']],
    ['thoughts that used up the output are an empty answer', [cut(''), says('hi')], ['ask-model', 'answered']],
    ['a refusal without a word is told', [says('', { stopReason: 'refusal' })], ['failed']],
  ])('%s', (_title, answers, steps) => {
    expect(follow(answers)).toEqual(steps);
  });

  test('empty answers up to the cap are called empty, not too many steps', () => {
    expect(completionOf(entries(asks(), empty, empty, empty), { maxIterations: 3, hasReader: true })).toMatchObject({
      outcome: 'failed',
      answer: expect.stringContaining('empty answer') as string,
    });
  });

  test('an empty answer after what a person added counts anew', () => {
    const turn = entries(asks(), empty, asks('and this'), empty);
    expect(completionOf(turn, { maxIterations: 40, hasReader: true })).toEqual({ type: 'ask-model' });
  });

  test('at the cap nothing is asked for again', () => {
    expect(follow([empty], 1)).toEqual(['failed']);
    expect(follow([cut('a')], 1)).toEqual(['answered']);
  });

  test('continuations are joined as they are, and what was joined is one text', () => {
    const turn = entries(asks(), cut('One tw'), note('go on'), says('o, three. ', { calls: [{ callId: 'T.1' }] }));
    expect(textsOf(turn)).toEqual({ parts: [], answer: 'One two, three.' });
    const later = entries(asks(), cut('One tw'), note('go on'), says('o.'), asks('more'), says('New.'));
    expect(textsOf(later)).toEqual({ parts: [], answer: 'New.' });
  });

  test('what is unfinished is known until it is continued or a person speaks', () => {
    expect(unfinishedText(entries(asks(), cut('a '), note('go on'), cut('b')))).toBe('a b');
    expect(unfinishedText(entries(asks(), cut('a'), note('go on'), says('b')))).toBe('');
    expect(unfinishedText(entries(asks(), cut('a'), asks('stop that')))).toBe('');
  });

  test('the last call is announced once', () => {
    const announced = lastCallNote('T', entries(asks()));
    if (announced === null) throw new Error('the first time it has to be said');
    expect(lastCallNote('T', entries(asks(), announced))).toBeNull();
    expect(asksForRest(entries(asks(), announced))).toBe(false);
  });
});

const KINDS: readonly ModelErrorKind[] = [
  'rate-limit',
  'overloaded',
  'timeout',
  'network',
  'auth',
  'quota',
  'context-overflow',
  'bad-request',
  'refusal',
  'unsupported-tool-choice',
  'aborted',
  'malformed',
];
const failed = (kind: ModelErrorKind, message = 'stack at internal.js:1'): ModelError => ({
  type: 'error',
  kind,
  retryable: false,
  message,
});

const context = (model: string): FailureContext => ({
  model,
  now: Date.UTC(2026, 10, 28, 12),
  timezone: 'Asia/Kolkata',
  asker: 'owner',
});

describe('what a person is told of a failure', () => {
  test.each(KINDS.filter((kind) => kind !== 'bad-request' && kind !== 'network'))(
    '%s: what happened and what to do',
    (kind) => {
      const sentence = failureSentence(failed(kind), context('openai/gpt-5.5'));
      expect(sentence).toMatch(/openai/u);
      expect(sentence).toMatch(/\/retry|\/model|\/new/u);
      expect(sentence).not.toContain('internal.js');
      expect(sentence.length).toBeLessThan(250);
    },
  );

  test('nobody is told to do what only the owner may, and where nobody asked, not to try again', () => {
    for (const kind of KINDS) {
      const asked = failureSentence(failed(kind), { ...context('a/b'), asker: 'guest' });
      expect(asked).not.toContain('/model');
      expect(asked).toMatch(/\/retry|\/new|Tell the owner/u);
      expect(failureSentence(failed(kind), { ...context('a/b'), asker: null })).not.toContain('/retry');
    }
  });

  test('a server that cannot be reached is told to the owner with its address, and to others without it', () => {
    const error = failed('network', 'local (127.0.0.1:1) refused the connection: is the server running?');
    expect(failureSentence(error, context('local/m'))).toBe(`${error.message} Then send /retry.`);
    expect(failureSentence(error, { ...context('local/m'), asker: 'guest' })).toBe(
      'I could not reach local, or the connection was lost. Send /retry to try again.',
    );
  });

  test.each([
    [
      { tokens: 4_096, asked: 6_273 },
      /reads only 4,096 tokens at once, .* takes 6,273\. .*llama-server -c 16384.*\/retry/u,
    ],
    [{ tokens: 4_096 }, /reads only 4,096 tokens at once, .* takes more\./u],
    [{ tokens: 131_072, asked: 140_000 }, /too long for local\/m: start a new one with \/new/u],
  ])('a window that is too small for one message is called so: %j', (window, sentence) => {
    expect(failureSentence({ ...failed('context-overflow'), window }, context('local/m'))).toMatch(sentence);
  });

  test('a server that is still loading its model is not called overloaded', () => {
    const error = { ...failed('overloaded'), about: 'loading' } as const;
    expect(failureSentence(error, context('local/m'))).toMatch(/^local is still loading its model\. Send \/retry/u);
  });

  test('a bad request is told in the words of the one who refused it, on one line', () => {
    const error = { ...failed('bad-request', 'No model\nis configured.'), about: 'model' } as const;
    expect(failureSentence(error, context('openai/x'))).toBe('No model is configured.');
  });

  test('how long to wait is told when it is known', () => {
    const waits = (retryAfterMs: number): string =>
      failureSentence({ ...failed('rate-limit'), retryAfterMs }, context('a/b'));
    expect(waits(30_000)).toContain('Send /retry to try again in 30 s');
  });

  test('a longer wait is told as the time of day where the person lives, with the day if it is another', () => {
    const waits = (retryAfterMs: number): string =>
      failureSentence({ ...failed('rate-limit'), retryAfterMs }, context('a/b'));
    expect(waits(600_000)).toContain('after 17:40 (in 10 min)');
    expect(waits(20 * 3_600_000)).toContain('after 13:30 on Sun 2026-11-29 (in 20 h)');
  });

  test("the server's words are shown as they are, whatever Markdown or links they hold", () => {
    const said = 'See [the *docs*](https://evil.example) or `x`';
    const sentence = failureSentence({ ...failed('overloaded'), said }, context('a/b'));
    expect(sentence).toContain(`: \`\` ${said} \`\`. `);
  });

  test('a failure ends the turn; what a continuation was for is shown', () => {
    const options = { ...context('a/b'), last: false, maxIterations: 40, hasReader: true };
    expect(afterFailure(entries(asks()), failed('auth'), options).outcome).toBe('failed');
    const turn = entries(asks(), cut('Half'));
    const say = completionOf(turn, { maxIterations: 40, hasReader: true });
    const half = entries(asks(), cut('Half'), note(say.type === 'say' ? say.text : ''));
    const end = afterFailure(half, failed('network'), options);
    expect(end).toMatchObject({ outcome: 'answered', answer: expect.stringMatching(/^Half\n\n_I was cut off here/u) });
  });
});

describe('which model answered', () => {
  const chosen = { ...unusableModel('p/m', ''), providerName: 'p', model: 'm' };
  const other = says('hello', { provider: 'openai', model: 'gpt-5.5' });

  test('another than the chosen one is named in a last line', () => {
    expect(signed('hello', entries(asks(), other), chosen)).toBe('hello\n\n_answered by openai/gpt-5.5_');
    expect(signed('hello', entries(asks(), says('hello')), chosen)).toBe('hello');
    expect(signed('', entries(asks(), other), chosen)).toBe('');
  });

  test('once another one wrote in a turn, the model has changed until its end', () => {
    const call = { callId: 'T.1' };
    const back = entries(asks(), says('', { calls: [call], provider: 'openai' }), gives('T.1', 'x'), says('hi'));
    expect(changedModel(back, chosen)).toBe(true);
    expect(changedModel(entries(asks(), says('hi')), chosen)).toBe(false);
    expect(modelsOf(back)).toHaveLength(2);
    expect(answeringModel(back, chosen)).toBe('p/m');
    expect(answeringModel(entries(asks()), chosen)).toBe('p/m');
  });
});
