import { describe, expect, test } from 'vitest';
import { atLeast, decideAccess, roleRank, weakest, type AccessQuestion } from '../../src/security/access.ts';

const direct = { chatType: 'direct', chatId: '7' } as const;
const group = { chatType: 'group', chatId: '-100' } as const;

describe('who gets in', () => {
  const allowed: readonly [string, AccessQuestion, string][] = [
    ['a single listed id is the owner', { ...direct, senderId: '1', allowFrom: ['1'] }, 'owner'],
    ['a single listed id is the owner beside the star', { ...direct, senderId: '1', allowFrom: ['*', '1'] }, 'owner'],
    ['one of two listed ids is trusted', { ...direct, senderId: '1', allowFrom: ['1', '2'] }, 'trusted'],
    ['an owner is the owner', { ...direct, senderId: '2', allowFrom: ['1', '2'], owners: ['2'] }, 'owner'],
    [
      'a listed id beside an owner is trusted',
      { ...direct, senderId: '1', allowFrom: ['1'], owners: ['2'] },
      'trusted',
    ],
    ['an owner need not be in allowFrom', { ...direct, senderId: '2', allowFrom: [], owners: ['2'] }, 'owner'],
    ['the star lets in guests', { ...direct, senderId: '9', allowFrom: ['*'] }, 'guest'],
    ['a listed person is known in groups too', { ...group, senderId: '1', allowFrom: ['1', '2'] }, 'trusted'],
    [
      'members of an open group are guests',
      { ...group, senderId: '9', allowFrom: ['1'], groups: { allow: ['-100'] } },
      'guest',
    ],
    ['the star opens every group', { ...group, senderId: '9', allowFrom: ['1'], groups: { allow: ['*'] } }, 'guest'],
  ];
  test.each(allowed)('%s', (_title, question, role) => {
    expect(decideAccess(question)).toEqual({ allowed: true, role });
  });

  const denied: readonly [string, AccessQuestion][] = [
    ['an empty list is nobody', { ...direct, senderId: '1', allowFrom: [] }],
    ['an empty list of owners adds nobody', { ...direct, senderId: '1', allowFrom: [], owners: [] }],
    ['a missing list denies', { ...direct, senderId: '1' }],
    ['a missing list denies even an owner', { ...direct, senderId: '1', owners: ['1'] }],
    ['a stranger is denied', { ...direct, senderId: '9', allowFrom: ['1'] }],
    ['ids are compared whole', { ...direct, senderId: '11', allowFrom: ['1'] }],
    ['ids are compared exactly', { ...direct, senderId: ' 1', allowFrom: ['1'] }],
    ['a missing sender is denied under the star', { ...direct, allowFrom: ['*'] }],
    ['an empty sender is denied under the star', { ...direct, senderId: '', allowFrom: ['*'] }],
    ['a sender called star is denied', { ...direct, senderId: '*', allowFrom: ['*'], owners: ['*'] }],
    ['a missing chat type is denied', { senderId: '1', chatId: '7', allowFrom: ['1'] }],
    ['a missing chat is denied', { senderId: '1', chatType: 'direct', allowFrom: ['1'] }],
    ['a group that is not open is closed', { ...group, senderId: '9', allowFrom: ['1'], groups: { allow: ['-200'] } }],
    [
      'an open group opens no direct chat',
      { chatType: 'direct', chatId: '-100', senderId: '9', allowFrom: ['1'], groups: { allow: ['-100'] } },
    ],
  ];
  test.each(denied)('%s', (_title, question) => {
    expect(decideAccess(question)).toMatchObject({ allowed: false, reason: expect.any(String) });
  });

  test('a star among the owners makes nobody an owner', () => {
    expect(decideAccess({ ...direct, senderId: '9', allowFrom: ['*'], owners: ['*'] })).toEqual({
      allowed: true,
      role: 'guest',
    });
    expect(decideAccess({ ...direct, senderId: '1', allowFrom: ['1'], owners: ['*'] })).toEqual({
      allowed: true,
      role: 'trusted',
    });
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
});
