import { expect, test, vi } from 'vitest';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import type { InboundDraft, Role } from '../../src/core/bus/messages.ts';
import { inboundDraft } from '../support/inbound.ts';
import { startLoop } from '../support/loop-world.ts';
import { waitFor } from '../support/wait.ts';

/** The role of the turn that these messages begin together. */
async function roleOf(
  drafts: readonly InboundDraft[],
  admit: NonNullable<Hooks['admit']>,
  replied?: (text: string) => unknown,
): Promise<Role | undefined> {
  await using world = await startLoop({ admit });
  const { turns, outbox } = world.journal;
  const claim = turns.claim.bind(turns);
  const roles: Role[] = [];
  vi.spyOn(turns, 'claim').mockImplementation(async (turn) => {
    roles.push(turn.role);
    const claimed = await claim(turn);
    // As if another had taken it: what is behind is not needed for the role.
    return replied === undefined ? [] : claimed;
  });
  await world.bus.publishInbound(...drafts);
  await waitFor(() => roles.length > 0);
  if (replied !== undefined) {
    await waitFor(() => outbox.page(0, 1).length > 0, { what: 'a reply' });
    for (const { message } of outbox.page(0, 10)) replied(message.text);
  }
  return roles[0];
}

const asTheyAre: NonNullable<Hooks['admit']> = () => undefined;

test('a turn has the role of whoever began it', async () => {
  expect(await roleOf([inboundDraft({ role: 'owner' })], asTheyAre)).toBe('owner');
  expect(await roleOf([inboundDraft({ role: 'guest' })], asTheyAre)).toBe('guest');
});

test('words of the owner that come with those of a guest do not raise the turn', async () => {
  const drafts = [inboundDraft({ role: 'guest' }), inboundDraft({ role: 'owner' })];
  expect(await roleOf(drafts, asTheyAre)).toBe('guest');
});

test('a plugin that takes rights away from a message takes them from its turn', async () => {
  const lowered: NonNullable<Hooks['admit']> = (message) => ({
    type: 'replace',
    value: { ...message, role: 'guest' },
  });
  expect(await roleOf([inboundDraft({ role: 'owner' })], lowered)).toBe('guest');
});

test('a plugin does not give a turn more rights than its message had', async () => {
  const raised: NonNullable<Hooks['admit']> = (message) => ({ type: 'replace', value: { ...message, role: 'owner' } });
  expect(await roleOf([inboundDraft({ role: 'guest' })], raised)).toBe('guest');
});

test('a message that a plugin refuses gets no turn: the reply is the reason', async () => {
  const replies: string[] = [];
  const refused: NonNullable<Hooks['admit']> = () => ({ type: 'deny', reason: 'not on a Sunday' });
  await roleOf([inboundDraft({})], refused, (text) => replies.push(text));
  expect(replies).toEqual(['not on a Sunday']);
});
