import { expect, test } from 'vitest';
import { readSkillText } from '../../src/core/skills/skill-text.ts';
import { strictReading } from './strict-reading.ts';
import { syntheticSkills } from './synthetic-skills.ts';

const SKILLS = syntheticSkills(20_240_229, 2_400).map((skill) => {
  const read = readSkillText(skill.text, { folderName: skill.folder });
  return { ...skill, read, shownName: read.writtenName ?? read.name, strict: strictReading(skill.text) };
});

test('of 2,400 skills in the styles of public collections at least 99% have the name and description that were meant', () => {
  const bad = SKILLS.filter(
    ({ read, name, description, strict }) =>
      read.name !== name || read.description !== (strict.description ?? description),
  );

  expect(bad.length, JSON.stringify(bad.slice(0, 3), null, 1)).toBeLessThanOrEqual(SKILLS.length / 100);
});

test('where a strict YAML reader gives a name or a description, it is always the same', () => {
  const different = SKILLS.filter(
    ({ read, shownName, strict }) =>
      (strict.name ?? shownName) !== shownName || (strict.description ?? read.description) !== read.description,
  );

  expect(different).toEqual([]);
});

test('a good part of them is not valid YAML, and a good part is', () => {
  const valid = SKILLS.filter(({ strict }) => strict.description !== undefined).length;

  expect(valid).toBeGreaterThan(SKILLS.length / 4);
  expect(valid).toBeLessThan((SKILLS.length * 3) / 4);
});

test('their metadata and tools are read although other fields are broken', () => {
  for (const { text, read } of SKILLS.filter((skill) => skill.text.includes('"bins":["gh"]'))) {
    expect(read.requires, text).toMatchObject({ bins: ['gh'], env: ['GH_TOKEN'] });
  }
  for (const { text, read } of SKILLS.filter((skill) => skill.text.includes('git commit:*'))) {
    expect(read.allowedTools, text).toHaveLength(3);
  }
});
