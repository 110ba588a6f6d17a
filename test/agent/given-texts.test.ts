import { expect, test } from 'vitest';
import { givenTexts } from '../../src/agent/given-texts.ts';
import { anchor, assistant, plainTurn, result, turnStart, user } from '../session/tapes.ts';
import { sessionsWorld } from './sessions-world.ts';

test.each([
  ['of strangers, no result counts as given', { untrusted: true }, ['new']],
  ['without strangers, the first results do', {}, ['new', 'my file']],
])('after a summary %s', async (_, bits, given) => {
  await using world = await sessionsWorld();
  await world.append(...plainTurn('t1', 'old', 'answer'), anchor('summed up', 'end-t1', bits));
  await world.append(turnStart('t2'), user('t2', 'new'), assistant('t2', '', ['c1']));
  await world.append(result('t2', 'c1', '[did it]\nmy file', { private: true }));
  expect(givenTexts(world.session)).toEqual(given);
});
