import { expect, test } from 'vitest';
import { startFakeFeishu, type FakeFeishu } from '../support/fake-feishu.ts';
import { cardText, markdownOf } from '../support/feishu-card.ts';
import type { FeishuMessage } from '../support/feishu-tenant.ts';
import { FEISHU, putPlugin } from '../support/plugin-package.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';

interface Office extends AsyncDisposable {
  readonly feishu: FakeFeishu;
  readonly world: World;
  /** The owner writes in their direct chat. */
  says(text: string): void;
  /** What the assistant wrote there. */
  sent(): readonly FeishuMessage[];
  texts(): readonly string[];
}

/** An assistant with the plugin, and its owner on Feishu. */
async function openOffice(): Promise<Office> {
  await using stack = new AsyncDisposableStack();
  const feishu = stack.use(await startFakeFeishu({ redeliverMs: 300 }));
  const { tenant } = feishu;
  const [owner, chatId] = [tenant.newId('ou'), tenant.newId('oc')];
  tenant.people.set(owner, 'Ann');
  tenant.chats.set(chatId, { id: chatId, mode: 'p2p' });
  const channels = { feishu: { ...feishu.config, allowFrom: [owner] } };
  const config = { plugins: [FEISHU.name], channels };
  const world = stack.use(await startWorld({ config, furnish: (home) => putPlugin(home, FEISHU) }));
  const sent = (): readonly FeishuMessage[] => tenant.messages.filter(({ sender }) => sender === tenant.app.id);
  const owned = stack.move();
  return {
    feishu,
    world,
    says: (text) => feishu.bring(tenant.write({ chatId, sender: owner, type: 'text', content: { text } })),
    sent,
    texts: () => sent().map(({ type, content }) => (type === 'text' ? String(content['text']) : cardText(content))),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test('an answer notifies nobody, whatever tags it holds', async () => {
  await using office = await openOffice();
  const text = 'Look: <at id=all></at>, `<at id=all></at>` and \\`<at id=all></at>\\`.';
  office.world.model.reply(text);
  office.says('tell everybody');
  await waitFor(() => office.texts().length === 1, { what: 'an answer' });
  expect(markdownOf(office.sent()[0]?.content).join()).not.toMatch(/<\/?at/u);
  expect(office.texts()[0]?.match(/<\u200b?at id=all>/gu)).toHaveLength(3);
});

test('an answer whose card is refused grows as plain text, in one message', async () => {
  await using office = await openOffice();
  let refusals = 1;
  office.feishu.setFaultHandler(({ route }) =>
    route === 'POST /im/v1/messages' && refusals-- > 0 ? { code: 230_099 } : undefined,
  );
  const text = `It is **bold**. ${'A sentence of the answer. '.repeat(12)}It ends.`;
  office.world.model.reply({ text, chunkSize: 10, eventDelayMs: 120 });
  office.says('tell me');
  await waitFor(() => office.texts()[0]?.endsWith('It ends.') === true, { what: 'the whole answer' });
  expect(office.texts()).toEqual([text.replaceAll('**', '')]);
  expect(office.sent()[0]?.type).toBe('text');
  expect(office.sent()[0]?.before.length).toBeGreaterThan(0);
});

test('a token that Feishu took back is asked for anew', async () => {
  await using office = await openOffice();
  office.world.model.reply('First.', 'Second.');
  office.says('one');
  await waitFor(() => office.texts().length === 1, { what: 'an answer' });
  office.feishu.forgetToken();
  office.says('two');
  await waitFor(() => office.texts().length === 2, { what: 'the next answer' });
  expect((await office.world.assistant.call('info', {})).channels['feishu']).toMatchObject({ state: 'running' });
});

test('a button in a direct chat is the owner’s also after a restart', async () => {
  await using office = await openOffice();
  office.world.model.reply(
    { calls: [{ name: 'message', arguments: { text: 'Tea?', buttons: ['Yes please'] } }] },
    'Offered.',
    'Here it is.',
  );
  office.says('offer tea');
  await waitFor(() => office.texts().includes('Tea?'), { what: 'an offer' });
  await office.world.restart();
  const [owner = ''] = office.feishu.tenant.people.keys();
  const offer = office.sent()[office.texts().indexOf('Tea?')];
  if (offer === undefined) throw new Error('there is no offer');
  office.feishu.presses(owner, offer, 'Yes please');
  const asked = (): string => office.world.model.requests.at(-1)?.view.lastUserText ?? '';
  await waitFor(() => asked().includes('Yes please'), { what: 'the press' });
  expect(asked()).toMatch(/^chat: \S+ \(direct\)$/mu);
  expect(asked()).toMatch(/^from: .* \(owner\)$/mu);
});

test('wrong settings are one sentence', async () => {
  await using feishu = await startFakeFeishu();
  const channels = {
    one: { ...feishu.config, appId: 'nothing' },
    two: { ...feishu.config, domain: 'feishu' },
  };
  const config = { plugins: [FEISHU.name], channels };
  await using world = await startWorld({ config, furnish: (home) => putPlugin(home, FEISHU) });
  const { channels: states } = await world.assistant.call('info', {});
  expect(states['one']?.detail).toBe('channels.one.appId: expected the App ID of your app (cli_…).');
  expect(states['two']?.detail).toBe('channels.two.domain: expected https://open.larksuite.com or Feishu’s.');
});
