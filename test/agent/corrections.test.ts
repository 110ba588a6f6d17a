import { expect, test } from 'vitest';
import { HookRunner, type Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { Corrections } from '../../src/core/agent/turn/corrections.ts';
import type { InboundMessage, Role } from '../../src/core/bus/messages.ts';
import type { Journal } from '../../src/core/journal/journal.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { appWith } from '../support/app-with.ts';
import { inboundMessage } from '../support/inbound.ts';

const OLD = inboundMessage({ id: 'old', externalId: 'm:1', text: 'pay Bob 1000', role: 'owner' });
const EDIT: Partial<InboundMessage> = {
  id: 'edit',
  externalId: 'e:1',
  text: '[edited] pay Bob 10',
  edits: { externalId: 'm:1', text: 'pay Bob 10' },
  role: 'owner',
};

/** What corrects `OLD` in a turn of this role while these messages wait: on its tape yet, and not. */
async function found(
  waiting: readonly Partial<InboundMessage>[],
  { role = 'owner', admit = () => undefined }: { role?: Role; admit?: NonNullable<Hooks['admit']> } = {},
): Promise<readonly [after: readonly string[], inPlace: readonly string[]]> {
  const hooks = new HookRunner(silentLog);
  hooks.register('test', { admit });
  const inbox = { arrivals: 1, waiting: () => waiting.map((one) => inboundMessage(one)) };
  const app = appWith({ journal: { inbox } as unknown as Journal, hooks });
  const turn = { sessionKey: 's', role };
  const textsOf = (all: Awaited<ReturnType<Corrections['after']>>): readonly string[] =>
    all.map(({ admitted }) => admitted.text);
  return [
    textsOf(await new Corrections(app, turn).after([OLD])),
    textsOf(await new Corrections(app, turn).inPlaceOf([OLD])),
  ];
}

test('an edit follows the message that it corrects, or stands in its place', async () => {
  expect(await found([EDIT])).toEqual([['[edited] pay Bob 10'], ['pay Bob 10']]);
});

test.each<[string, Partial<InboundMessage>]>([
  ['another message', { edits: { externalId: 'm:2', text: 'x' } }],
  ['the same number in another chat', { chatId: '999' }],
  ['the same number on another channel', { channel: 'terminal' }],
  ['the same number of another account', { account: 'other' }],
  ['the message of somebody else', { sender: { id: '999', isBot: false } }],
])('what edits %s is no correction', async (_, other) => {
  expect(await found([{ ...EDIT, ...other }])).toEqual([[], []]);
});

test('an edit of somebody who may do less now than the turn does not join it', async () => {
  expect(await found([{ ...EDIT, role: 'guest' }])).toEqual([[], []]);
  expect(await found([{ ...EDIT, role: 'guest' }], { role: 'guest' })).toEqual([
    ['[edited] pay Bob 10'],
    ['pay Bob 10'],
  ]);
});

test('an edit that a plugin refuses, or takes rights from, does not join', async () => {
  expect(await found([EDIT], { admit: () => ({ type: 'deny', reason: 'no' }) })).toEqual([[], []]);
  const lowers: NonNullable<Hooks['admit']> = (message) => ({ type: 'replace', value: { ...message, role: 'guest' } });
  expect(await found([EDIT], { admit: lowers })).toEqual([[], []]);
  expect(await found([{ id: 'other', text: 'hi', role: 'owner' }])).toEqual([[], []]);
});
