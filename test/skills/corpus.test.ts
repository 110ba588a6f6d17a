import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSkillText } from '../../src/core/skills/skill-text.ts';
import type { SkillText } from '../../src/core/skills/skill.ts';
import { ODD_FIELDS } from './corpus-expected-fields.ts';
import { ODD_METADATA } from './corpus-expected-metadata.ts';
import { ODD_FRAMES, type Expected } from './corpus-expected.ts';
import { strictReading } from './strict-reading.ts';

const CORPUS = join(import.meta.dirname, 'corpus');
const EXPECTED: Readonly<Record<string, Expected>> = { ...ODD_FRAMES, ...ODD_FIELDS, ...ODD_METADATA };

const NOTHING_SAID = {
  always: false,
  userInvocable: true,
  disableModelInvocation: false,
  os: [],
  install: [],
  installSteps: [],
  allowedTools: null,
};
const NO_NEEDS = { bins: [], anyBins: [], env: [], config: [] };

function textOf(folder: string): string {
  return readFileSync(join(CORPUS, folder, 'SKILL.md'), 'utf8');
}

function read(folder: string): SkillText {
  return readSkillText(textOf(folder), { folderName: folder });
}

test('the corpus has at least 60 texts, each with its expectation', () => {
  const folders = readdirSync(CORPUS).toSorted();

  expect(folders).toEqual(Object.keys(EXPECTED).toSorted());
  expect(folders.length).toBeGreaterThanOrEqual(60);
});

test.each(Object.entries(EXPECTED).map(([folder, expected]) => ({ folder, ...expected })))(
  '$folder is read although it has $odd',
  ({ folder, name = folder, description, begins, facts, warns }) => {
    const { body, warnings, ...skill } = read(folder);

    expect(skill).toEqual({
      name,
      description,
      ...NOTHING_SAID,
      ...facts,
      requires: { ...NO_NEEDS, ...facts?.requires },
    });
    expect(body.split('\n')[0]).toBe(begins);
    expect(warnings).toEqual(warns.map((part) => expect.stringContaining(part)));
  },
);

test.each(Object.keys(EXPECTED))(
  '%s has the name and description of a strict YAML reader where that gives any',
  (folder) => {
    const strict = strictReading(textOf(folder));
    const skill = read(folder);

    if (strict.name !== undefined && /[a-z0-9]/iu.test(strict.name))
      expect(skill.writtenName ?? skill.name).toBe(strict.name);
    if (strict.description !== undefined) expect(skill.description).toBe(strict.description);
  },
);

test('no text of the corpus runs code', () => {
  for (const folder of Object.keys(EXPECTED)) read(folder);

  expect(globalThis).not.toHaveProperty('corpusRan');
});
