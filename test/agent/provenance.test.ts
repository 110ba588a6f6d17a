import { describe, expect, test } from 'vitest';
import { saidTexts } from '../../src/core/agent/turn/provenance.ts';
import { urlOrigin } from '../../src/core/security/access/url-origin.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { anchor, assistant, plainTurn, result, turnStart, user } from '../session/tapes.ts';
import { sessionsWorld } from './sessions-world.ts';

const URL = 'http://site.example/?s=hunter2';
const NAMED = `[did it]\nsee ${URL}`;

/** What a person wrote. */
const own = (turn: string, text: string): EntryDraft => ({ ...user(turn, text), own: 0 }) as EntryDraft;
/** What a tool returned, by the name of its author. */
const fetched = (turn: string, callId: string, output: string, author = 'outside'): EntryDraft =>
  ({ ...result(turn, callId, output, { untrusted: true }), author }) as EntryDraft;

async function originAfter(
  drafts: readonly EntryDraft[],
  role: 'owner' | 'trusted' | 'guest' = 'owner',
): Promise<string> {
  await using world = await sessionsWorld();
  await world.append(turnStart('t'), ...drafts);
  return urlOrigin(URL, saidTexts(world.session, role));
}

describe('an address is given', () => {
  test.each<[string, readonly EntryDraft[]]>([
    ['by a person’s own words', [own('t', `read ${URL}`)]],
    ['by a person who repeats the model', [assistant('t', URL), own('t', `yes, ${URL}`)]],
    ['by a person’s answer to a question', [assistant('t', '', ['c']), fetched('t', 'c', NAMED, 'person')]],
  ])('%s', async (_, drafts) => {
    expect(await originAfter(drafts)).toBe('given');
  });
});

describe('an address is outsiders’', () => {
  test.each<[string, readonly EntryDraft[]]>([
    ['on a page that was fetched', [assistant('t', '', ['c']), fetched('t', 'c', NAMED)]],
    ['when the model repeats it', [assistant('t', '', ['c']), fetched('t', 'c', NAMED), assistant('t', URL)]],
    [
      'when a second page repeats it after the model',
      [assistant('t', '', ['c']), fetched('t', 'c', NAMED), assistant('t', URL, ['d']), fetched('t', 'd', NAMED)],
    ],
  ])('%s', async (_, drafts) => {
    expect(await originAfter(drafts)).toBe('outside');
  });

  test('in the words of somebody below the role of the turn', async () => {
    await using world = await sessionsWorld();
    await world.append({ ...turnStart('t'), role: 'trusted' } as EntryDraft, own('t', URL));
    expect(urlOrigin(URL, saidTexts(world.session, 'trusted'))).toBe('given');
    expect(urlOrigin(URL, saidTexts(world.session, 'owner'))).toBe('outside');
  });
});

describe('an address is the model’s', () => {
  const call = (args: object): EntryDraft => {
    const said = assistant('t', '', ['c']);
    const [part] = (said as { content: object[] }).content;
    return { ...said, content: [{ ...part, arguments: JSON.stringify(args) }] } as EntryDraft;
  };
  test.each<[string, readonly EntryDraft[]]>([
    ['in its own text', [assistant('t', URL)]],
    ['in a file, a command’s output or any other result', [assistant('t', '', ['c']), result('t', 'c', NAMED)]],
    [
      'in an untrusted result that isn’t a page',
      [assistant('t', '', ['c']), result('t', 'c', NAMED, { untrusted: true })],
    ],
    ['in a message without own words', [user('t', URL)]],
    ['in a note of the program, a quote, a forward or a press', [user('t', URL, { untrusted: true })]],
    ['in the header of a page', [assistant('t', '', ['c']), fetched('t', 'c', `[fetched ${URL}]`)]],
    ['on a page that repeats its words', [assistant('t', `try ${URL}`, ['c']), fetched('t', 'c', NAMED)]],
    ['on a page that repeats its arguments', [call({ query: { deep: [URL] } }), fetched('t', 'c', NAMED)]],
    ['in a summary', [anchor(URL, 'nothing')]],
  ])('%s', async (_, drafts) => {
    expect(await originAfter(drafts)).toBe('composed');
  });

  test.each([
    ['bold', 'http://site.example/?s=hun**t**er2'],
    ['code', 'http://site.example/?s=hun`t`er2'],
    ['slanted', '_http://site.example/?s=hunter2_'],
    ['struck out', 'http://site.example/?s=hun~~t~~er2'],
    ['with an invisible character', 'http://site.example/?s=hun\u{200B}ter2'],
    ['with a soft hyphen', 'http://site.example/?s=hun\u{AD}ter2'],
    ['with escapes', 'http://site.example/?s=hun%74er2'],
    ['with escapes of escapes', 'http://site.example/?s=hun%2574er2'],
    ['in capitals', 'HTTP://SITE.EXAMPLE/?S=HUNTER2'],
    ['in wide letters', 'http://site.example/?s=ｈｕｎｔｅｒ２'],
    ['with entities of HTML', 'http://site.example/?s=hun&#116;er&#x32;'],
    ['with escapes of JSON', String.raw`http://site.example/?s=hun\u0074er2`],
    ['with backslashes', String.raw`http://site.example/?s\=hunter2`],
    ['without a scheme', 'site.example/?s=hunter2'],
    ['in pieces with spaces', 'site . example / ? s = h u n t e r 2'],
    ['as a part of a longer one', 'http://site.example/?s=hunter2xyz'],
  ])('on a page that repeats what it said %s', async (_, said) => {
    const drafts = [assistant('t', said, ['c']), fetched('t', 'c', NAMED)];
    expect(await originAfter(drafts)).toBe('composed');
  });
});

test('what was said before a summary names no addresses', async () => {
  await using world = await sessionsWorld();
  await world.append(...plainTurn('t1', URL, 'answer'), anchor('summed up', 'end-t1'));
  await world.append(turnStart('t2'), own('t2', 'new'));
  expect(saidTexts(world.session, 'owner')).toEqual([{ author: 'person', text: 'new' }]);
});
