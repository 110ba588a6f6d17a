import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { faultsOf, platforms, showsAll } from '../support/markup-platforms.ts';

const file = new URL('../fixtures/commonmark/examples.json', import.meta.url);
const examples = z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')));

describe.each(platforms)('every example of the CommonMark spec on $name', (platform) => {
  test('gives parts that the platform takes and that show what the document shows', () => {
    expect(examples).toHaveLength(652);
    const faulty = examples.map((markdown) => [markdown, faultsOf(markdown, platform)] as const);
    expect(faulty.filter(([, faults]) => faults.length > 0)).toEqual([]);
  });

  test('shows all that a web page would show', () => {
    expect(examples.filter((markdown) => !showsAll(markdown, platform))).toEqual([]);
  });
});
