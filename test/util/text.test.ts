import { expect, test } from 'vitest';
import { withoutFence } from '../../src/core/util/text.ts';

test('a text loses the fence around it only where that is closed', () => {
  expect(withoutFence('~~~\nx\n~~~\n')).toBe('x');
  expect(withoutFence('````\n```\nx\n```\n````')).toBe('```\nx\n```');
  expect(withoutFence('```\nx')).toBe('```\nx');
});
