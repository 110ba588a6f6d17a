import { describe, expect, test } from 'vitest';
import type { PairedRole } from '../../src/core/bus/messages.ts';
import {
  asRole,
  atLeast,
  decideAccess,
  localRole,
  roleRank,
  seesPrivate,
  strongestRole,
  weakest,
  type AccessQuestion,
  type AccessSettings,
} from '../../src/core/security/access/access.ts';

type Question = Extract<AccessQuestion, { via: 'channel' }>;

const direct = { chatType: 'direct', chatId: '7' } as const;
const group = { chatType: 'group', chatId: '-100' } as const;
const groups = { policy: 'mention', allow: [], allowBots: [] } as const;

/** A complete question from a person; a test names what is different. */
function ask(
  senderId: string,
  settings: AccessSettings,
  more: Partial<Omit<Question, 'via'>> = {},
): ReturnType<typeof decideAccess> {
  return decideAccess({
    via: 'channel',
    sender: { id: senderId, isBot: false, isSelf: false },
    pairedRole: () => undefined,
    ...direct,
    settings: { groups, ...settings },
    ...more,
  });
}

describe('the role of a person', () => {
  test.each<[string, string, AccessSettings, 'owner' | 'trusted' | 'guest']>([
    ['a single listed id is the owner', '1', { allowFrom: ['1'] }, 'owner'],
    ['a single listed id is the owner beside the star', '1', { allowFrom: ['*', '1'] }, 'owner'],
    ['the same id twice is a single one', '1', { allowFrom: ['1', '1'] }, 'owner'],
    ['one of two listed ids is trusted', '1', { allowFrom: ['1', '2'] }, 'trusted'],
    ['an owner is the owner', '2', { allowFrom: ['1', '2'], owners: ['2'] }, 'owner'],
    ['a listed id beside an owner is trusted', '1', { allowFrom: ['1'], owners: ['2'] }, 'trusted'],
    ['an owner need not be in allowFrom', '2', { allowFrom: [], owners: ['2'] }, 'owner'],
    ['the star lets in guests', '9', { allowFrom: ['*'] }, 'guest'],
    ['a star among the owners makes no guest an owner', '9', { allowFrom: ['*'], owners: ['*'] }, 'guest'],
    ['nor anybody who is listed', '1', { allowFrom: ['1'], owners: ['*'] }, 'trusted'],
  ])('%s', (_title, id, settings, role) => {
    expect(ask(id, settings)).toEqual({ allowed: true, role });
    expect(ask(id, settings, group)).toEqual({ allowed: true, role });
  });

  test('is an owner once a code made them one, however they are listed besides', () => {
    const pairedRole = (id: string): PairedRole | undefined => (id === '5' ? 'owner' : undefined);
    for (const allowFrom of [[], ['*'], ['1'], ['1', '5']]) {
      expect(ask('5', { allowFrom }, { pairedRole })).toEqual({ allowed: true, role: 'owner' });
    }
    expect(ask('5', { allowFrom: ['5'], owners: ['1'] }, { pairedRole })).toEqual({ allowed: true, role: 'owner' });
    expect(ask('1', { allowFrom: ['1', '2'] }, { pairedRole })).toEqual({ allowed: true, role: 'trusted' });
  });

  test('is trusted once they were paired, and no more, however they are listed besides', () => {
    const pairedRole = (id: string): PairedRole | undefined => (id === '5' ? 'trusted' : undefined);
    for (const allowFrom of [[], ['*'], ['1']]) {
      expect(ask('5', { allowFrom }, { pairedRole })).toEqual({ allowed: true, role: 'trusted' });
    }
    expect(ask('6', { allowFrom: [] }, { pairedRole })).toMatchObject({ allowed: false });
    // Pairing somebody does not cost the single listed person their place.
    expect(ask('1', { allowFrom: ['1'] }, { pairedRole })).toEqual({ allowed: true, role: 'owner' });
    expect(ask('5', { allowFrom: [], owners: ['5'] }, { pairedRole })).toEqual({ allowed: true, role: 'owner' });
  });

  test.each(['terminal', 'control-socket', 'gateway-token'] as const)('at the %s is the owner', (via) => {
    expect(decideAccess({ via })).toEqual({ allowed: true, role: 'owner' });
    expect(localRole(via)).toBe('owner');
  });
});

describe('nobody gets in', () => {
  test.each<[string, string, AccessSettings]>([
    ['through an empty list', '1', { allowFrom: [] }],
    ['through an empty list of owners', '1', { allowFrom: [], owners: [] }],
    ['who is a stranger', '9', { allowFrom: ['1'] }],
    ['whose id is longer than a listed one', '11', { allowFrom: ['1'] }],
    ['whose id differs by a space', ' 1', { allowFrom: ['1'] }],
  ])('%s, and a person may be offered pairing', (_title, id, settings) => {
    expect(ask(id, settings)).toMatchObject({ allowed: false, reason: expect.any(String), stranger: 'direct' });
    expect(ask(id, settings, group)).toMatchObject({ allowed: false, stranger: 'group' });
  });

  const complete: Question = {
    via: 'channel',
    sender: { id: '1', isBot: false, isSelf: false },
    settings: { allowFrom: ['*', '1'], owners: ['1'], groups },
    pairedRole: () => 'trusted' as const,
    ...direct,
  };
  const { sender } = complete;
  test.each<[string, Partial<Question>]>([
    ['a sender', { sender: undefined }],
    ['the sender’s id', { sender: { ...sender, id: undefined } }],
    ['an id that is not empty', { sender: { ...sender, id: '' } }],
    ['an id of one sender', { sender: { ...sender, id: '*' } }],
    ['whether the sender is a bot', { sender: { ...sender, isBot: undefined } }],
    ['whether the sender is the assistant', { sender: { ...sender, isSelf: undefined } }],
    ['the settings', { settings: undefined }],
    ['the list of people', { settings: { owners: ['1'], groups } }],
    ['the kind of chat', { chatType: undefined }],
    ['the chat', { chatId: undefined }],
    ['a chat’s id that is not empty', { chatId: '' }],
    ['the settings of groups', { ...group, settings: { allowFrom: ['1'] } }],
    ['the policy of groups', { ...group, settings: { allowFrom: ['1'], groups: { allow: [] } } }],
    ['the list of groups', { ...group, settings: { allowFrom: ['1'], groups: { policy: 'mention' } } }],
  ])('without %s', (_title, missing) => {
    expect(decideAccess(complete)).toMatchObject({ allowed: true });
    expect(decideAccess({ ...complete, ...missing })).toMatchObject({ allowed: false, stranger: null });
  });

  test('by a way that nobody knows', () => {
    const unknown: unknown = { ...complete, via: undefined };
    expect(decideAccess(unknown as AccessQuestion)).toMatchObject({ allowed: false, stranger: null });
  });

  test('as paired when nobody says who was', () => {
    expect(ask('5', { allowFrom: [] }, { pairedRole: undefined })).toMatchObject({ allowed: false });
  });
});

describe('groups', () => {
  const everybody = { allowFrom: ['*', '1'], owners: ['1'] };

  test('are not heard when they are off, not even an owner', () => {
    const off = { ...everybody, groups: { ...groups, policy: 'off' } } as const;
    expect(ask('1', off, group)).toMatchObject({ allowed: false, stranger: null });
    expect(ask('1', off)).toMatchObject({ allowed: true });
  });

  test.each([
    [[], true],
    [['*'], true],
    [['-100'], true],
    [['-200', '-100'], true],
    [['-200'], false],
    [['-1000'], false],
  ])('are those of the list %j, all of them when it is empty', (allow, allowed) => {
    expect(ask('1', { ...everybody, groups: { ...groups, allow } }, group)).toMatchObject({ allowed });
    expect(ask('9', { ...everybody, groups: { ...groups, allow } }, group)).toMatchObject({ allowed });
    expect(ask('1', { ...everybody, groups: { ...groups, allow } })).toMatchObject({ allowed: true });
  });

  test.each([
    ['mention', ['-100'], false],
    ['open', ['-100'], true],
    ['open', ['*'], true],
    ['open', ['-200'], false],
    // Anybody can add a bot to a group of their own.
    ['open', [], false],
  ] as const)('with the policy %s and the list %j let unknown members in as guests: %s', (policy, allow, allowed) => {
    const settings = { allowFrom: ['1'], groups: { ...groups, policy, allow } };
    expect(ask('9', settings, group)).toMatchObject(allowed ? { allowed, role: 'guest' } : { allowed });
    expect(ask('9', settings, { chatType: 'direct', chatId: '-100' })).toMatchObject({ allowed: false });
  });
});

describe('programs', () => {
  const settings = { allowFrom: ['*', '5'], owners: ['5'], groups: { ...groups, allowBots: ['5'] } };

  test('its own messages are never heard', () => {
    for (const isBot of [true, false]) {
      const sender = { id: '5', isBot, isSelf: true };
      expect(ask('5', settings, { sender, ...group })).toMatchObject({ allowed: false, stranger: null });
    }
  });

  test('other bots are heard in groups when they are named as bots, as guests, and nowhere else', () => {
    const bot = (id: string) => ({ sender: { id, isBot: true, isSelf: false }, pairedRole: () => 'trusted' as const });
    expect(ask('5', settings, { ...bot('5'), ...group })).toEqual({ allowed: true, role: 'guest' });
    expect(ask('5', settings, bot('5'))).toMatchObject({ allowed: false, stranger: null });
    expect(ask('6', settings, { ...bot('6'), ...group })).toMatchObject({ allowed: false, stranger: null });
    const closed = { ...settings, groups: { ...settings.groups, policy: 'off' } } as const;
    expect(ask('5', closed, { ...bot('5'), ...group })).toMatchObject({ allowed: false });
    const star = { ...settings, groups: { ...settings.groups, allowBots: ['*'] } };
    expect(ask('6', star, { ...bot('6'), ...group })).toMatchObject({ allowed: false });
  });
});

test('roles are ordered guest, trusted, owner', () => {
  expect(['guest', 'trusted', 'owner'] as const).toEqual(
    (['owner', 'guest', 'trusted'] as const).toSorted((a, b) => roleRank(a) - roleRank(b)),
  );
  expect(atLeast('trusted', 'trusted')).toBe(true);
  expect(atLeast('guest', 'trusted')).toBe(false);
  expect(weakest('owner', 'guest', 'trusted')).toBe('guest');
  expect(weakest()).toBe('guest');
  expect(['owner', 'trusted', 'guest', 'Owner', ''].map(asRole)).toEqual([
    'owner',
    'trusted',
    'guest',
    'guest',
    'guest',
  ]);
});

test('private things are the owner’s in a direct chat, and nobody’s where something is not known', () => {
  for (const role of ['owner', 'trusted', 'guest', undefined] as const) {
    for (const chatType of ['direct', 'group', undefined] as const) {
      expect(seesPrivate({ role, chatType })).toBe(role === 'owner' && chatType === 'direct');
    }
  }
});

test.each<[AccessSettings | undefined, 'owner' | 'trusted']>([
  [{ allowFrom: ['1'] }, 'owner'],
  [{ allowFrom: ['1', '2'], owners: ['2'] }, 'owner'],
  [{ allowFrom: ['*'], owners: ['1'] }, 'owner'],
  [{ allowFrom: ['1', '2'] }, 'trusted'],
  [{ allowFrom: ['*'], owners: ['*'] }, 'trusted'],
  [undefined, 'trusted'],
])('the most that anybody may be with %j is %s', (settings, role) => {
  expect(strongestRole(settings)).toBe(role);
});

test('an owner by pairing counts among the most powerful people of a channel', () => {
  expect(strongestRole({ allowFrom: [] }, ['trusted'])).toBe('trusted');
  expect(strongestRole({ allowFrom: [] }, ['trusted', 'owner'])).toBe('owner');
});
