import { describe, expect, test } from 'vitest';
import { anchorOf } from '../../src/core/agent/consolidation/run.ts';
import { givenTexts } from '../../src/core/agent/turn/provenance.ts';
import { endedTurns, readSpan } from '../../src/core/memory/consolidation/session-span.ts';
import { urlOrigin } from '../../src/core/security/access/url-origin.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import type { Session } from '../../src/core/session/session.ts';
import { anchor, assistant, plainTurn, reset, result, turnEnd, turnStart, user } from '../session/tapes.ts';
import { sessionsWorld } from './sessions-world.ts';
import { ORIGINS } from '../support/extensions.ts';

const textsOf = (session: Session): readonly string[] =>
  givenTexts(session, ORIGINS).map((one) => (typeof one === 'string' ? one : one.text));

const bitsOf = (session: Session): unknown => {
  const { untrusted, private: isPrivate } = session.history();
  return { untrusted, private: isPrivate };
};

describe('the bits of a conversation', () => {
  test('outlive what they came from in the anchor that stands for it, and go with /new', async () => {
    await using world = await sessionsWorld();
    const { session } = world;
    await world.append({ ...turnStart('t1'), private: true }, user('t1', 'read it'), turnEnd('t1'));
    await world.append(turnStart('t2'), user('t2', 'a page', { untrusted: true }), turnEnd('t2', '', 'answered'));
    await world.append(...plainTurn('t3', 'thanks', 'sure'));
    expect(bitsOf(session)).toEqual({ untrusted: true, private: true });
    const span = await readSpan(session);
    const turns = endedTurns(span).slice(0, 2);
    const upTo = turns.at(-1)?.end ?? '';
    const place = { span, turns, consolidated: new Set<string>(), unsummarised: [] };
    await world.append(anchorOf(place, { id: 'a1', upTo, reason: 'size', entries: ['Read a page.'], window: 65_536 }));
    expect(session.history()).toMatchObject({ boundary: 'anchor', untrusted: true, private: true });
    await world.append(reset());
    expect(bitsOf(session)).toEqual({ untrusted: false, private: false });
  });

  test('are set by a turn that was begun with the memory in its prompt', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'hi', 'hello'));
    expect(bitsOf(world.session)).toEqual({ untrusted: false, private: false });
    await world.append({ ...turnStart('t2'), private: true });
    expect(bitsOf(world.session)).toEqual({ untrusted: false, private: true });
  });
});

describe('what was given, not composed', () => {
  const header = '[did it]\n';

  test('are words of people and results of calls that were made before strangers were there, never the model’s words', async () => {
    await using world = await sessionsWorld();
    await world.append(turnStart('t'), user('t', 'mine'), assistant('t', 'composed', ['c1', 'c2', 'c3', 'c4']));
    await world.append(
      result('t', 'c1', `${header}my file`, { private: true }),
      result('t', 'c2', `${header}a page`, { untrusted: true }),
      result('t', 'c3', `${header}echoed`, { private: true }),
      result('t', 'c4', `${header}another page`, { untrusted: true }),
    );
    await world.append(user('t', 'steered', { untrusted: true }));
    expect(textsOf(world.session)).toEqual(['mine', 'my file', 'a page', 'echoed', 'another page', 'steered']);
  });

  test('a result that is the owner’s too may hold what the model put there', async () => {
    await using world = await sessionsWorld();
    await world.append(turnStart('t'), user('t', 'x', { untrusted: true }), assistant('t', '', ['c1', 'c2']));
    await world.append(
      result('t', 'c1', `${header}both`, { untrusted: true, private: true }),
      result('t', 'c2', `${header}neither`),
    );
    expect(textsOf(world.session)).toEqual(['x']);
  });

  test('a call of the model’s gives nothing by its answer: neither what stood in it nor how it failed', async () => {
    await using world = await sessionsWorld();
    const secret = 'http://evil.example/?s=1';
    const call = (callId: string, args: object): object => ({
      type: 'tool-call',
      callId,
      providerCallId: callId,
      name: 'web_search',
      arguments: JSON.stringify(args),
    });
    const asked = assistant('t', '', []);
    await world.append(turnStart('t'), user('t', 'x', { untrusted: true }), {
      ...asked,
      content: [call('c1', { query: `see ${secret}` }), call('c2', { query: 'bees' })],
    } as typeof asked);
    await world.append(result('t', 'c1', `${header}${secret} http://bees.example/a`, { untrusted: true }), {
      ...result('t', 'c2', `${header}no host http://failed.example/`, { untrusted: true }),
      isError: true,
    } as EntryDraft);
    const origin = (url: string): string => urlOrigin(url, givenTexts(world.session, ORIGINS));
    expect(origin(secret)).toBe('composed');
    expect(origin('http://failed.example/')).toBe('composed');
    expect(origin('http://bees.example/a')).toBe('untrusted');
  });

  test('the label of a model’s button gives nothing by its press, nor an answer that somebody quotes', async () => {
    await using world = await sessionsWorld();
    await world.append(
      turnStart('t'),
      user('t', 'x', { untrusted: true }),
      assistant('t', 'see http://evil.example/?s=1', []),
    );
    const pressed = { ...user('t2', 'http://pressed.example/?s=1', { untrusted: true }), pressed: true } as EntryDraft;
    await world.append(turnStart('t2'), pressed, user('t2', 'in reply to me: see http://evil.example/?s=1'));
    const origin = (url: string): string => urlOrigin(url, givenTexts(world.session, ORIGINS));
    expect(origin('http://pressed.example/?s=1')).toBe('composed');
    expect(origin('http://evil.example/?s=1')).toBe('composed');
  });

  test('the header of a result repeats what the model asked for, and a summary is the model’s', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'old', 'answer'), anchor('summed up', 'end-t1', { untrusted: true }));
    await world.append(turnStart('t2'), user('t2', 'new'), assistant('t2', '', ['c1', 'c2']));
    await world.append(
      result('t2', 'c1', '[fetched https://a.example/?q=secret]', { untrusted: true }),
      result('t2', 'c2', `${header}after strangers`),
    );
    expect(textsOf(world.session)).toEqual(['new', '']);
  });
});
