import { describe, expect, test } from 'vitest';
import { earlierFetches } from '../../src/core/agent/turn/earlier-fetches.ts';
import { isOneOfMany } from '../../src/core/security/access/fetch-action.ts';
import type { EarlierFetch } from '../../src/core/tools/tool.ts';
import { sessionsWorld } from '../agent/sessions-world.ts';
import { assistant, result, turnStart } from '../session/tapes.ts';

const HOST = 'http://a.example.com';
const listed = (...urls: string[]): { text: string; untrusted: boolean; repeats: readonly string[] } => ({
  text: urls.join(' '),
  untrusted: true,
  repeats: [],
});
const all = listed(
  ...Array.from('abcdefgh').map((letter) => `${HOST}/${letter}`),
  'http://b.example.com/x',
  'http://b.co.uk/x',
);
const asked = (url: string, more: Partial<EarlierFetch> = {}): EarlierFetch => ({
  url,
  once: url,
  approved: false,
  ...more,
});
const three = Array.from('abc').map((letter) => asked(`${HOST}/${letter}`));

describe('one of many addresses of a site that strangers alone gave', () => {
  test.each<[string, string, readonly EarlierFetch[], boolean]>([
    ['the third', `${HOST}/d`, three.slice(1), false],
    ['the fourth', `${HOST}/d`, three, true],
    ['the fourth of a name below the same one', 'http://b.example.com/x', three, true],
    ['the first of another site', 'http://b.co.uk/x', three, false],
    ['one after three of which one was read twice', `${HOST}/d`, [...three.slice(1), asked(`${HOST}/c`)], false],
    [
      'one after the same failure three times',
      `${HOST}/d`,
      [0, 1, 2].map((n) => asked(`${HOST}/a`, { once: `c${n}` })),
      true,
    ],
    ['the fifth, after a yes to the fourth', `${HOST}/e`, [...three, asked(`${HOST}/d`, { approved: true })], false],
    [
      'the seventh, after a yes to the fourth',
      `${HOST}/g`,
      [...three, asked(`${HOST}/d`, { approved: true }), asked(`${HOST}/e`), asked(`${HOST}/f`)],
      true,
    ],
  ])('is %s', (_, url, earlier, is) => {
    expect(isOneOfMany(url, [all], earlier)).toBe(is);
  });

  test('is none that a person gave, and those that a person gave do not count', () => {
    expect(isOneOfMany(`${HOST}/d`, [all, `read ${HOST}/d`], three)).toBe(false);
    expect(isOneOfMany(`${HOST}/d`, [all, `read ${HOST}/a`], three)).toBe(false);
  });
});

test('the addresses before a call are those of earlier calls, of the same message and of the same batch', async () => {
  await using world = await sessionsWorld();
  const call = (callId: string, args: object): object => ({
    type: 'tool-call',
    callId,
    providerCallId: callId,
    name: 'any',
    arguments: JSON.stringify(args),
  });
  const said = assistant('t', '', []);
  const inner = [
    { arguments: { url: 'http://c/' } },
    { arguments: { path: 'x' } },
    { arguments: { url: 'http://d/' } },
  ];
  const content = [call('c1', { url: 'http://a/' }), call('c2', { url: 'http://b/' }), call('c3', { calls: inner })];
  await world.append(turnStart('t'), { ...said, content } as typeof said);
  await world.append({ ...result('t', 'c1', '[x]'), approved: true } as ReturnType<typeof result>);
  const before = (callId: string): readonly string[] => earlierFetches(world.session, callId).map(({ url }) => url);
  expect(before('c1')).toEqual([]);
  expect(before('c2')).toEqual(['http://a/']);
  expect(before('c3.1')).toEqual(['http://a/', 'http://b/']);
  expect(before('c3.3')).toEqual(['http://a/', 'http://b/', 'http://c/']);
  expect(earlierFetches(world.session, 'c3.3').map(({ once, approved }) => [once, approved])).toEqual([
    ['http://a/', true],
    ['c2', false],
    ['c3.1', false],
  ]);
});
