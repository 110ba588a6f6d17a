import { describe, expect, test } from 'vitest';
import { givenTexts } from '../../src/core/agent/turn/provenance.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { anchor, assistant, plainTurn, result, turnStart, user } from '../session/tapes.ts';
import { sessionsWorld } from './sessions-world.ts';
import { ORIGINS } from '../support/extensions.ts';

const textsOf = (session: Parameters<typeof givenTexts>[0]): readonly string[] =>
  givenTexts(session, ORIGINS).map((one) => (typeof one === 'string' ? one : one.text));

test.each([
  ['of strangers, no result counts as given', { untrusted: true }, ['new']],
  ['without strangers, the first results do', {}, ['new', 'my file']],
])('after a summary %s', async (_, bits, given) => {
  await using world = await sessionsWorld();
  await world.append(...plainTurn('t1', 'old', 'answer'), anchor('summed up', 'end-t1', bits));
  await world.append(turnStart('t2'), user('t2', 'new'), assistant('t2', '', ['c1']));
  await world.append(result('t2', 'c1', '[did it]\nmy file', { private: true }));
  expect(textsOf(world.session)).toEqual(given);
});

describe('what another model wrote', () => {
  const subagents = (turn: string): EntryDraft => ({
    kind: 'turn-start',
    turn,
    sources: [`in-${turn}`],
    role: 'owner',
    origin: 'subagent',
  });

  test('is given as long as it had read nothing of strangers, and not afterwards', async () => {
    await using world = await sessionsWorld();
    await world.append(subagents('t1'), user('t1', 'clean task'), assistant('t1', 'done'));
    await world.append(subagents('t2'), user('t2', 'tainted task', { untrusted: true }));
    expect(textsOf(world.session)).toEqual(['clean task']);
  });

  test.each([
    ['private and strangers’', { untrusted: true, private: true }, ['go']],
    ['strangers’ alone', { untrusted: true }, ['go', 'https://its.example']],
    ['nobody else’s', {}, ['go', 'https://its.example']],
  ])('in a result of a subagent, when what it read was %s', async (_, bits, given) => {
    await using world = await sessionsWorld();
    const spawned = { ...result('t1', 'c1', '[subagent]\nhttps://its.example', bits), name: 'spawn' };
    await world.append(turnStart('t1'), user('t1', 'go'), assistant('t1', '', ['c1']), spawned);
    expect(textsOf(world.session)).toEqual(given);
  });
});
