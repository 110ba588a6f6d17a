import { expect, test } from 'vitest';
import { fieldsOf } from '../../src/core/skills/fields.ts';
import { readMetadata, type SkillMetadata } from '../../src/core/skills/metadata.ts';

function read(fields: Record<string, unknown>): SkillMetadata {
  return readMetadata(fieldsOf(fields)).metadata;
}

test.each(['assistant', 'nanobot', 'openclaw', 'clawdbot', 'moltbot', 'clawdis'])(
  'metadata is read under the key %s, as a map and as text',
  (owner) => {
    const block = { always: true, requires: { bins: ['gh'] } };
    for (const metadata of [
      { [owner]: block },
      JSON.stringify({ [owner]: block }),
      { [owner]: JSON.stringify(block) },
    ]) {
      expect(read({ metadata })).toMatchObject({ always: true, requires: { bins: ['gh'] } });
    }
  },
);

test('the first assistant of the order counts, whatever the order they are written in', () => {
  const metadata = { clawdis: { os: ['linux'] }, openclaw: { os: ['darwin'] }, assistant: { primaryEnv: 'KEY' } };

  expect(read({ metadata })).toMatchObject({ primaryEnv: 'KEY', os: [] });
});

test('the top level counts before the map of an assistant, and that before the metadata itself', () => {
  const metadata = { license: 'C', homepage: 'C', always: true, openclaw: { license: 'B', homepage: 'B' } };

  expect(read({ license: 'A', metadata })).toMatchObject({ license: 'A', homepage: 'B', always: true });
});

test('the kinds of requirements may stand in different places', () => {
  const fields = { requires: { bins: 'gh' }, metadata: { openclaw: { requires: { bins: ['jq'], env: ['KEY'] } } } };

  expect(read(fields).requires).toEqual({ bins: ['gh'], anyBins: [], env: ['KEY'], config: [] });
});

test.each([
  ['gh', ['gh']],
  ['gh, jq', ['gh', 'jq']],
  [
    ['gh', 'jq', 'gh'],
    ['gh', 'jq'],
  ],
  [[{ name: 'gh' }], ['gh']],
  ['python3>=3.9', ['python3']],
  [[], []],
  [7, ['7']],
  [{ gh: true }, []],
])('requires.bins of %j are %j', (bins, expected) => {
  expect(read({ requires: { bins } }).requires.bins).toEqual(expected);
});

test.each([
  ['user-invocable', 'no'],
  ['userInvocable', false],
  ['user_invocable', 'False'],
  ['User-Invocable', 0],
])('%s: %j is understood', (key, value) => {
  expect(read({ [key]: value }).userInvocable).toBe(false);
});

test.each([
  [true, true],
  ['yes', true],
  ['TRUE', true],
  [1, true],
  ['off', false],
  ['maybe', false],
  [null, false],
])('disable-model-invocation: %j is %j', (value, expected) => {
  expect(read({ 'disable-model-invocation': value }).disableModelInvocation).toBe(expected);
});

test.each([
  ['macos', ['darwin']],
  [
    ['mac', 'osx', 'Darwin', 'Windows', 'linux'],
    ['darwin', 'win32', 'linux'],
  ],
  ['all', []],
  [['linux', 'any'], []],
])('os: %j is %j', (os, expected) => {
  expect(read({ os }).os).toEqual(expected);
});

test.each([
  [{ kind: 'brew', formula: 'gh' }, ['brew: gh']],
  [[{ brew: 'gh' }], ['brew: gh']],
  [{ kind: 'download', url: 'https://example.org/x' }, ['download: https://example.org/x']],
  [{ kind: 'apt', packages: ['a', 'b'] }, ['apt: a b']],
  [{ label: 'Ask for it' }, ['Ask for it']],
  [
    ['brew install gh', 'apt install gh'],
    ['brew install gh', 'apt install gh'],
  ],
  ['first\nsecond', ['first second']],
  [[null, {}, []], []],
])('install: %j is shown as %j', (install, expected) => {
  expect(read({ install }).install).toEqual(expected);
});

test.each([[{ metadata: 'not: [a' }], [{ metadata: { openclaw: 'x: [' } }], [{ metadata: 4 }], [{ requires: ['a'] }]])(
  '%j is ignored with a warning',
  (fields) => {
    const { metadata, warnings } = readMetadata(fieldsOf(fields));

    expect(metadata).toEqual(read({}));
    expect(warnings).toHaveLength(1);
  },
);
