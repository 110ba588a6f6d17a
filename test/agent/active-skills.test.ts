import { expect, test } from 'vitest';
import { createTurnSkills } from '../../src/core/agent/prompt/active-skills.ts';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import type { SkillCatalog } from '../../src/core/skills/catalog.ts';
import type { Skill } from '../../src/core/skills/skill.ts';
import { readSkillText } from '../../src/core/skills/skill-text.ts';
import { inboundMessage } from '../support/inbound.ts';
import { ORIGINS } from '../support/extensions.ts';

const skill = (name: string, fields = '', more: Partial<Skill> = {}): Skill => ({
  ...readSkillText(`---\nname: ${name}\ndescription: x\n${fields}---\nText of ${name}.\n`, { folderName: name }),
  folder: `/skills/${name}`,
  file: `/skills/${name}/SKILL.md`,
  source: 'workspace',
  foreign: true,
  missing: [],
  getting: { commands: [], reasons: [] },
  ...more,
});

const SKILLS = [
  skill('chess'),
  skill('quiet', 'user-invocable: false\n'),
  skill('own', '', { foreign: false }),
  skill('careful', 'allowed-tools: Read\n'),
  skill('habits', 'always: true\nallowed-tools: Read\n'),
];

const catalog: Pick<SkillCatalog, 'read' | 'lastRead' | 'load'> = {
  read: async () => SKILLS,
  lastRead: async () => SKILLS,
  load: async (name) => {
    const found = SKILLS.find((one) => one.name === name);
    return found === undefined ? undefined : { skill: found, text: found.body, line: 5 };
  },
};

const called = async (message: Partial<InboundMessage>): Promise<readonly string[]> =>
  (await createTurnSkills(catalog, ORIGINS, () => ({})).called(inboundMessage(message))).map(({ name }) => name);

test('a message calls skills by a command or by their name behind a dollar', async () => {
  expect(await called({ text: '/chess now' })).toEqual(['chess']);
  expect(await called({ text: 'use $own and $chess', role: 'trusted' })).toEqual(['own', 'chess']);
});

test.each<[string, Partial<InboundMessage>]>([
  ['forwarded words', { untrusted: true }],
  ['a guest', { role: 'guest' }],
])('%s call none', async (_, message) => {
  for (const text of ['/chess', 'use $chess']) expect(await called({ ...message, text })).toEqual([]);
});

test('a skill that only the model may call is not called by people', async () => {
  expect(await called({ text: '/quiet' })).toEqual([]);
  expect(await called({ text: '$quiet $own' })).toEqual(['own']);
});

test('it is told whether others may have written a skill', async () => {
  const skills = createTurnSkills(catalog, ORIGINS, () => ({}));
  const found = await skills.called(inboundMessage({ text: '$own $chess' }));
  expect(found.map(({ foreign }) => foreign)).toEqual([false, true]);
  expect((await skills.active([])).foreign).toBe(true);
});

test('only a skill that was called limits what may be called', async () => {
  const skills = createTurnSkills(catalog, ORIGINS, () => ({}));
  expect(await skills.active([])).toMatchObject({ names: ['habits'], allowed: null, limitedBy: [] });
});
