import { describe, expect, test } from 'vitest';
import { SaidBefore } from '../../../src/core/agent/api/said-before.ts';

describe('what was said before in a conversation that a program keeps', () => {
  const text = 'The answer is 42.';

  test('is untrusted unless it is known', () => {
    expect(new SaidBefore().marksOf(text)).toEqual({ untrusted: true, private: false });
  });

  test('keeps each mark that it ever had, whatever the spaces', () => {
    const said = new SaidBefore();
    said.remember(text, { untrusted: false, private: true });
    said.remember(text, { untrusted: false, private: false });
    expect(said.marksOf(' The answer\nis 42. ')).toEqual({ untrusted: false, private: true });
    said.remember(text, { untrusted: true, private: false });
    said.remember(text, { untrusted: false, private: false });
    expect(said.marksOf(text)).toEqual({ untrusted: true, private: true });
  });
});
