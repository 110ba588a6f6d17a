import { describe, expect, test } from 'vitest';
import { HastyClock } from '../support/slack-reconnect-world.ts';
import { CHANNEL, DIRECT, OWNER, postsIn, startSlackWorld, type SlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';

const FRIEND = 'U0FRIEND';

const said = (world: SlackWorld, text: string): Promise<unknown> =>
  waitFor(() => postsIn(world).includes(text), { timeoutMs: 60_000, what: `${text} in ${postsIn(world).join(' | ')}` });

/** The owner writes what Slack brings to nobody, and the history of no conversation can be had. */
async function missesOne(world: SlackWorld, text: string): Promise<void> {
  const { slack } = world;
  slack.setFaultHandler((method) => (method === 'conversations.history' ? { status: 503 } : undefined));
  const { opened } = slack.sockets;
  slack.cutAll();
  slack.sends(OWNER, DIRECT, text, { as: 'nothing' });
  await waitFor(() => slack.sockets.opened > opened, { what: 'the next connection' });
}

async function startTalking(clock: HastyClock): Promise<SlackWorld> {
  const world = await startSlackWorld({ clock, slack: { allowFrom: [OWNER, FRIEND], owners: [OWNER] } });
  world.slack.workspace.addPerson(FRIEND, 'Fred');
  world.model.reply('Hello.');
  world.slack.sends(OWNER, DIRECT, 'hello');
  await said(world, 'Hello.');
  return world;
}

describe('what was written on Slack while there was no connection', () => {
  test('is found however long its history cannot be had', async () => {
    const clock = new HastyClock();
    await using world = await startTalking(clock);
    world.model.reply('Found.');
    await missesOne(world, 'where are you?');
    const tries = (): number => world.slack.calls.filter(({ method }) => method === 'conversations.history').length;
    for (let skipped = 0; skipped < 12; skipped += 1) {
      const before = tries();
      // Again and again: the next try may not be planned yet.
      await waitFor(() => (clock.skip(40_000), tries() > before || skipped > 6), { what: 'another try' });
    }
    world.slack.setFaultHandler(undefined);
    await waitFor(() => (clock.skip(40_000), postsIn(world).includes('Found.')), { what: 'the answer' });
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('where are you?');
  });

  test('is found after a restart too, whatever came live before its history could be had', async () => {
    const clock = new HastyClock();
    await using world = await startTalking(clock);
    const { workspace } = world.slack;
    workspace.aheadMs = 60_000;
    world.model.reply('Live.', 'Found.');
    await missesOne(world, 'where are you?');
    workspace.aheadMs = 1_200_000;
    clock.skip(1_200_000);
    world.slack.sends(OWNER, DIRECT, 'and now?');
    await waitFor(() => (clock.skip(5_000), postsIn(world).includes('Live.')), { what: 'the live answer' });
    world.slack.setFaultHandler(undefined);
    await world.restart();
    await said(world, 'Found.');
    expect(world.model.requests.at(-1)?.view.lastUserText).toContain('where are you?');
    expect(world.model.requests).toHaveLength(3);
  });

  test('is told of to the owner, once, where it is more than is fetched', { timeout: 120_000 }, async () => {
    const clock = new HastyClock();
    await using world = await startTalking(clock);
    world.model.reply('Yes?');
    world.slack.sends(OWNER, CHANNEL, '<@U0TESTBOT> are you here?');
    await waitFor(() => postsIn(world, CHANNEL).includes('Yes?'), { what: 'the answer in the channel' });
    world.slack.cutAll();
    for (let n = 0; n < 2_200; n += 1) world.slack.sends(FRIEND, CHANNEL, `post ${n}`, { as: 'nothing' });
    const notices = (): readonly string[] =>
      postsIn(world).filter((text) => text.includes('did not read all messages'));
    await waitFor(() => notices().length > 0, { timeoutMs: 60_000, what: 'the notice' });
    expect(notices()[0]).toContain(CHANNEL);
    world.slack.cutAll();
    world.model.reply('Still here.');
    world.slack.sends(OWNER, DIRECT, 'and now?');
    await said(world, 'Still here.');
    expect(notices()).toHaveLength(1);
  });
});
