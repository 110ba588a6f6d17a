import { expect, test } from 'vitest';
import { assistantCommand } from '../../src/core/util/assistant-command.ts';

test.each([
  ['chat', 'npm run chat', 'assistant chat'],
  ['chat --session work', 'npm run chat -- --session work', 'assistant chat --session work'],
  ['gateway', 'npm start', 'assistant gateway'],
  ['pair approve ABCD2345', 'npm run assistant -- pair approve ABCD2345', 'assistant pair approve ABCD2345'],
])('%j is named as it works in a clone and where it was installed', (words, inClone, installed) => {
  expect(assistantCommand(words, { clone: true })).toBe(inClone);
  expect(assistantCommand(words, { clone: false })).toBe(installed);
});
