import { expect, test } from 'vitest';
import { HookRunner, type Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { Steering } from '../../src/core/agent/turn/steering.ts';
import type { InboundMessage, Role } from '../../src/core/bus/messages.ts';
import type { Journal } from '../../src/core/journal/journal.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { appWith } from '../support/app-with.ts';
import { inboundMessage } from '../support/inbound.ts';
import { ORIGINS } from '../support/extensions.ts';

/** A running turn of this role, while these messages wait. */
function steering(
  waiting: readonly Partial<InboundMessage>[],
  {
    role = 'trusted',
    origin = 'user',
    admit = () => undefined,
  }: { role?: Role; origin?: string; admit?: NonNullable<Hooks['admit']> } = {},
): () => Promise<readonly string[]> {
  const hooks = new HookRunner(silentLog);
  hooks.register('test', { admit });
  const messages = waiting.map((one, n) => inboundMessage({ id: `m${n}`, role: 'trusted', ...one }));
  const inbox = { waiting: (_session: string, limit: number) => messages.slice(0, limit) };
  const app = appWith({ journal: { inbox } as unknown as Journal, hooks });
  const first = inboundMessage({ id: 'first', role, origin });
  const turn = new Steering(app, { sessionKey: first.sessionKey, role, first, origin: ORIGINS.of(origin) });
  return async () => (await turn.next()).map(({ admitted }) => admitted.text);
}

test.each<[string, Partial<InboundMessage>]>([
  ['of another chat', { chatId: '999' }],
  ['of somebody who may do less', { role: 'guest' }],
  ['that is a command', { text: '/new' }],
])('a message %s does not join, and those behind it wait too', async (_, other) => {
  expect(await steering([{ text: 'a' }, other, { text: 'b' }])()).toEqual(['a']);
});

test.each(['cron', 'heartbeat', 'of an extension that is gone'])(
  'nothing joins what nobody asked for (%s)',
  async (origin) => {
    expect(await steering([{ text: 'a' }], { origin })()).toEqual([]);
    expect(await steering([{ text: 'a' }])()).toEqual(['a']);
  },
);

test('what counts is the role of the turn', async () => {
  const hooks = new HookRunner(silentLog);
  const inbox = { waiting: () => [inboundMessage({ id: 'm', text: 'a', role: 'trusted' })] };
  const app = appWith({ journal: { inbox } as unknown as Journal, hooks });
  const first = inboundMessage({ role: 'trusted' });
  const turn = new Steering(app, { sessionKey: 's', role: 'owner', first, origin: ORIGINS.of('user') });
  const joining = await turn.next();
  expect(joining).toEqual([]);
});

test('a turn takes in what came at five of its model calls', async () => {
  const next = steering([{ text: 'a' }]);
  const taken: (readonly string[])[] = [];
  for (let n = 0; n < 7; n += 1) taken.push(await next());
  expect(taken.filter((texts) => texts.length > 0)).toHaveLength(5);
});

test('what a plugin refused stays refused with the same words', async () => {
  let isOpen = false;
  const next = steering([{ text: 'a' }], { admit: () => (isOpen ? undefined : { type: 'deny', reason: 'no' }) });
  for (let n = 0; n < 7; n += 1) expect(await next()).toEqual([]);
  isOpen = true;
  expect(await next()).toEqual([]);
});

test('a plugin does not let a message join by giving it rights', async () => {
  const admit: NonNullable<Hooks['admit']> = (message) => ({ type: 'replace', value: { ...message, role: 'owner' } });
  expect(await steering([{ text: 'a', role: 'guest' }], { admit })()).toEqual([]);
});
