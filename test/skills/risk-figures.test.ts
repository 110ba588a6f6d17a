import { describe, expect, test } from 'vitest';
import { findRisks } from '../../src/core/skills/risks.ts';
import { benignSkills, eachBenignBody, type MadeSkill } from './benign-skills.ts';
import { maliciousSkills } from './malicious-skills.ts';

const kindsIn = ({ files }: MadeSkill): readonly string[] =>
  findRisks(Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))).map(({ kind }) => kind);
const bodyOf = ({ files }: MadeSkill): string =>
  JSON.stringify((files['SKILL.md'] ?? '').split('\n').slice(8).join('\n').slice(0, 80));

describe('of honest skills', () => {
  const skills = benignSkills();

  test('at most one in twenty is remarked on', () => {
    const remarked = skills.filter((skill) => kindsIn(skill).length > 0);
    expect(skills).toHaveLength(300);
    expect(remarked.length / skills.length).toBeLessThanOrEqual(0.05);
  });

  test.each(
    eachBenignBody()
      .filter(({ group }) => group !== 'installer piped to a shell')
      .map((skill) => ({ skill, group: skill.group, body: bodyOf(skill) })),
  )('nothing is said of $group: $body', ({ skill }) => {
    expect(kindsIn(skill)).toEqual([]);
  });

  test('what pipes a download to a shell is told, whoever offers it', () => {
    for (const skill of eachBenignBody().filter(({ group }) => group.startsWith('installer'))) {
      expect(kindsIn(skill)).toEqual(['pipe to a shell']);
    }
  });
});

describe('of bad skills', () => {
  const skills = maliciousSkills();

  test('there are 60 at least, of 15 ways at least', () => {
    expect(skills.length).toBeGreaterThanOrEqual(60);
    expect(new Set(skills.map(({ group }) => group)).size).toBeGreaterThanOrEqual(15);
  });

  test.each(skills.map((skill) => ({ skill, group: skill.group, body: bodyOf(skill) })))(
    '$group is told: $body',
    ({ skill }) => {
      expect(kindsIn(skill)).not.toEqual([]);
    },
  );
});
