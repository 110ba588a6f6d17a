import { expect, test } from 'vitest';
import { parseYaml } from '../../src/core/skills/yaml.ts';

test('YAML that multiplies itself by references is refused', () => {
  const levels = Array.from({ length: 8 }, (_, n) => {
    const items = n === 0 ? Array.from({ length: 9 }, () => 'x') : Array.from({ length: 9 }, () => `*a${n - 1}`);
    return `a${n}: &a${n} [${items.join(', ')}]`;
  });
  expect(() => parseYaml(levels.join('\n'))).toThrow(/alias/iu);
  expect(parseYaml('a: &a [x]\nb: *a')).toEqual({ a: ['x'], b: ['x'] });
});

test('YAML of more than ten kilobytes is refused', () => {
  expect(() => parseYaml(`a: ${'x'.repeat(11_000)}`)).toThrow('very long');
});
