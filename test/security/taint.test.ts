import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SINKS, taintDecision, type LastingTarget, type TaintAction } from '../../src/core/security/access/taint.ts';
import { urlOrigin, type SaidText } from '../../src/core/security/access/url-origin.ts';

const TARGETS = ['memory', 'bootstrap', 'skills', 'cron', 'mcp', 'config'] as const satisfies readonly LastingTarget[];

const fetches = (composed: boolean, hostAllowed: boolean, selected = false): TaintAction => ({
  kind: 'fetch-url',
  composed,
  hostAllowed,
  selected,
});

/** For each action: with nothing, private, untrusted, and both. */
const TABLE: readonly [string, TaintAction, readonly ('allow' | 'ask')[]][] = [
  ['a URL that was given', fetches(false, false), ['allow', 'allow', 'allow', 'allow']],
  ['a URL that was given, of an open host', fetches(false, true), ['allow', 'allow', 'allow', 'allow']],
  ['one of many URLs that strangers gave', fetches(false, false, true), ['allow', 'allow', 'allow', 'ask']],
  ['one of many URLs of an open host', fetches(false, true, true), ['allow', 'allow', 'allow', 'allow']],
  ['a composed URL', fetches(true, false), ['allow', 'allow', 'allow', 'ask']],
  ['a composed URL of an open host', fetches(true, true), ['allow', 'allow', 'allow', 'allow']],
  ['a tool that isn’t built in', { kind: 'foreign-tool' }, ['allow', 'allow', 'allow', 'ask']],
  ['what can’t be undone', { kind: 'irreversible' }, ['allow', 'allow', 'allow', 'ask']],
  ['input on a page', { kind: 'page-input', hostAllowed: false }, ['allow', 'allow', 'allow', 'ask']],
  ['input on a page of an open host', { kind: 'page-input', hostAllowed: true }, ['allow', 'allow', 'allow', 'allow']],
  ['a search for what nobody said', { kind: 'search-web' }, ['allow', 'allow', 'allow', 'ask']],
  ['a message to another chat', { kind: 'message-other-chat' }, ['allow', 'allow', 'ask', 'ask']],
  ['a command with network', { kind: 'networked-exec' }, ['allow', 'allow', 'ask', 'ask']],
  ['something shown to a group', { kind: 'show-to-group' }, ['allow', 'allow', 'ask', 'ask']],
  ['anything else', { kind: 'other' }, ['allow', 'allow', 'allow', 'allow']],
  ...TARGETS.map((target): [string, TaintAction, ('allow' | 'ask')[]] => [
    `a lasting write to ${target}`,
    { kind: 'lasting-write', target },
    ['allow', 'allow', 'ask', 'ask'],
  ]),
];

const BITS = [
  { untrusted: false, private: false },
  { untrusted: false, private: true },
  { untrusted: true, private: false },
  { untrusted: true, private: true },
];

describe.each(TABLE)('%s', (_name, action, expected) => {
  test.each(BITS.map((taint, at) => [JSON.stringify(taint), taint, expected[at]] as const))(
    'with %s',
    (_, taint, is) => {
      const decision = taintDecision({ taint, action });
      expect(decision.decision).toBe(is);
      if (decision.decision === 'ask')
        expect(decision.reason).toMatch(/^this conversation contains text from outside, .*\w$/u);
    },
  );
});

test('a question says where the text came from, where that is known', () => {
  const taint = { untrusted: true, private: true, source: 'a web page' };
  expect(taintDecision({ taint, action: { kind: 'networked-exec' } })).toMatchObject({
    reason: expect.stringMatching(/^this conversation contains text from a web page, and a command /u),
  });
});

/** As people said it. */
const by = (...texts: readonly string[]): readonly SaidText[] => texts.map((text) => ({ author: 'person', text }));

describe('where an address comes from', () => {
  test.each([
    ['https://a.example/b?c=1', 'look at https://a.example/b?c=1'],
    ['https://a.example/b', 'It is https://a.example/b.'],
    ['https://a.example/b', 'Really (https://a.example/b)?!'],
    ['https://a.example/b', '[here](https://a.example/b), and <https://a.example/c>'],
    ['https://a.example/b_(c)', 'see https://a.example/b_(c)'],
    ['https://a.example/b', '"https://a.example/b"'],
    ['https://a.example/b', '{"url":"https://a.example/b","n":1}'],
    ['https://a.example/b', '**https://a.example/b**\n'],
    ['https://a.example/b#part', 'https://a.example/b'],
    ['https://a.example/b', 'https://a.example/b#part'],
    ['https://a.example', 'https://a.example/'],
    ['https://a.example/', 'https://a.example, please'],
    ['https://a.example/b', 'read a.example/b for me'],
    ['https://a.example/', 'what is on a.example?'],
    ['https://a.example/b', '请看https://a.example/b。谢谢'],
    [' https://a.example/b ', 'https://a.example/b'],
    ['https://a.example/b', 'look at A.Example/b'],
    ['https://xn--bcher-kva.example/b', 'https://bücher.example/b'],
    ['https://bücher.example/b', 'https://xn--bcher-kva.example/b'],
    ['https://a.example/%C3%A4', 'https://a.example/ä'],
    ['https://a.example/ä', 'https://a.example/%C3%A4'],
    ['https://a.example/a_b', String.raw`https://a.example/a\_b`],
    ['https://a.example/ab', 'https://a.example/a\u{200B}b'],
    ['http://a.example:8080/b', 'http://A.example:8080/b'],
  ])('%s is given in %j', (url, text) => {
    expect(urlOrigin(url, by('nothing here', text))).toBe('given');
  });

  test.each([
    ['nothing was said', 'https://a.example/b', ''],
    ['it goes on', 'https://a.example/?q=secret', 'https://a.example/'],
    ['it goes on', 'https://a.example/b/secret', 'https://a.example/b'],
    ['it goes on', 'https://a.example.evil.example/', 'https://a.example'],
    ['it stops before', 'https://a.example/b', 'https://a.example/bc'],
    ['it stops before', 'https://a.example/b', 'https://a.example/b/c'],
    ['it stops before', 'https://a.example/b', 'https://a.example/b?c=d'],
    ['it stops before', 'https://a.example/b', 'https://a.example/b.html'],
    ['it stops before', 'https://a.example/', 'https://a.example/b'],
    ['it stops before', 'https://a.example/b', 'https://a.example/b%20c'],
    ['other escapes', 'https://a.example/%62', 'https://a.example/b'],
    ['other escapes', 'https://a.example/b%20c', 'https://a.example/b+c'],
    ['another case', 'https://a.example/B', 'https://a.example/b'],
    ['another scheme', 'http://a.example/b', 'https://a.example/b'],
    ['another host before it', 'https://a.example/b', 'https://xa.example/b'],
    ['a user before it', 'https://a.example/b', 'https://u@a.example/b'],
    ['a user in it', 'https://secret@a.example/b', 'https://a.example/b'],
    ['a part of a longer one', 'https://a.example/b', 'https://b.example/?to=https://a.example/bc'],
    ['a word that is no host', 'https://hello/', 'hello'],
    ['two pieces', 'https://a.example/b c', 'https://a.example/b c'],
    ['another scheme', 'file:///etc/passwd', 'file:///etc/passwd'],
    ['no address', 'a.example', 'a.example'],
  ])('%s: %s is composed, with %j said', (_why, url, text) => {
    expect(urlOrigin(url, by(text))).toBe('composed');
  });

  test('the rows of docs/security.md are those of the code', () => {
    const table = Object.values(SINKS).map(({ what, also }) => `| ${what} | ${also ? 'yes' : 'no'} |`);
    const docs = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
    expect(docs).toContain(`|---|---|\n${table.join('\n')}\n\n`);
  });

  test('pieces of several texts make no address', () => {
    expect(urlOrigin('https://a.example/b', by('https://a.example/', 'b'))).toBe('composed');
  });

  test('whatever is added to a given address makes another one of it', () => {
    const added = fc.stringMatching(/^[A-Za-z0-9/?&=%._~+-]{1,12}$/u);
    fc.assert(
      fc.property(added, added, (path, more) => {
        const given = `https://a.example/x${path}x`;
        const texts = by(`see ${given} for more`);
        expect(urlOrigin(given, texts)).toBe('given');
        expect(urlOrigin(`${given}${more}`, texts)).toBe('composed');
        expect(urlOrigin(`https://${more}a.example/x${path}x`, texts)).toBe('composed');
      }),
      { numRuns: 1_000 },
    );
  });
});
