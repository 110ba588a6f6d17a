import { expect, test } from 'vitest';
import { refusedBySkills } from '../../src/core/tools/registry/decide.ts';
import { NO_SKILLS, type ActiveSkills } from '../../src/core/tools/tool.ts';

const GIT: ActiveSkills = {
  names: ['git-notes'],
  foreign: false,
  env: {},
  folders: ['/skills/git-notes'],
  limitedBy: ['git-notes'],
  allowed: [{ tool: 'exec', commandPrefix: 'git log' }, { tool: 'web_fetch' }],
};

const refused = (tool: string, params: Readonly<Record<string, unknown>> = {}, skills: ActiveSkills = GIT): boolean =>
  refusedBySkills(tool, params, skills) !== null;

test('a skill without a limit limits nothing', () => {
  expect(refused('write_file', { path: 'a' }, { ...GIT, allowed: null })).toBe(false);
  expect(refusedBySkills('write_file', {}, NO_SKILLS)).toBeNull();
});

test('while a skill limits what may be called nothing else is, and the answer says what may', () => {
  expect(refused('web_fetch')).toBe(false);
  expect(refusedBySkills('write_file', { path: 'a' }, GIT)).toMatch(/git-notes.*exec \(only git log …\), web_fetch/u);
});

test('a skill whose limit allows nothing lets nothing through', () => {
  expect(refused('exec', { command: 'git log' }, { ...GIT, allowed: [] })).toBe(true);
});

test('another skill may always be loaded', () => {
  expect(refused('skill', { name: 'other' })).toBe(false);
});

test.each([
  ['git log', false],
  ['git log --oneline -5', false],
  ['git logs', true],
  ['git push', true],
  ['git log; id', true],
  ['git log $(id)', true],
  ['git log > file', true],
])('a command is held to its prefix: %s', (command, isRefused) => {
  expect(refused('exec', { command })).toBe(isRefused);
});

test('a command that is no text does not pass for one', () => {
  expect(refused('exec', { command: ['git log'] })).toBe(true);
});

test.each([
  ['/skills/git-notes/reference.md', false],
  ['/skills/git-notes', false],
  ['/skills/git-notes/../other/secret.md', true],
  ['/skills/git-notes-2/reference.md', true],
  ['/home/owner/.ssh/id_ed25519', true],
  ['notes.md', true],
])('what the skill brings along may be read, and nothing beside it: %s', (path, isRefused) => {
  expect(refused('read_file', { path })).toBe(isRefused);
});

test('nothing is written into the folder of the skill', () => {
  expect(refused('write_file', { path: '/skills/git-notes/SKILL.md' })).toBe(true);
});
