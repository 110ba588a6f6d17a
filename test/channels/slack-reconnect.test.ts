import { describe, expect, test } from 'vitest';
import { HastyClock, ReconnectWorld } from '../support/slack-reconnect-world.ts';
import { waitFor } from '../support/wait.ts';

const came = (world: ReconnectWorld, text: string): Promise<unknown> =>
  waitFor(() => world.texts.includes(text), { what: text });
const quiet = (world: ReconnectWorld): Promise<unknown> =>
  waitFor(() => world.server.sockets.unacknowledged.length === 0, { what: 'every acknowledgement' });

describe('what Slack brings', () => {
  test('is acknowledged when it is written down, and not before', async () => {
    await using world = await ReconnectWorld.open();
    const written = Promise.withResolvers<void>();
    world.refuse = () => written.promise;
    world.sends('one');
    await waitFor(() => world.server.sockets.sent.length === 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(world.server.sockets.acks).toEqual([]);
    written.resolve();
    await came(world, 'one');
    await quiet(world);
    expect(world.server.sockets.acks).toHaveLength(1);
  });

  test('is brought again to the next process when this one ends between the envelope and its acknowledgement', async () => {
    await using world = await ReconnectWorld.open();
    world.refuse = () => new Promise(() => {});
    world.sends('one');
    await waitFor(() => world.server.sockets.sent.length === 1);
    world.refuse = undefined;
    await world.restart();
    await came(world, 'one');
    world.server.sockets.ackLosses = 1;
    world.sends('two');
    await came(world, 'two');
    await world.restart();
    await quiet(world);
    expect(world.texts).toEqual(['one', 'two']);
  });

  test('waits while nothing can be written, and the status says so', async () => {
    await using world = await ReconnectWorld.open({ clock: new HastyClock() });
    world.refuse = () => Promise.reject(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    world.sends('one');
    await waitFor(() => world.health?.detail === 'Messages wait for the disk: no space left');
    expect(world.server.sockets.acks).toEqual([]);
    world.refuse = undefined;
    await came(world, 'one');
    await quiet(world);
    expect(world.texts).toEqual(['one']);
    expect(world.health).toMatchObject({ state: 'running' });
  });

  test('is skipped when nobody can make anything of it', async () => {
    await using world = await ReconnectWorld.open();
    world.server.sockets.bring('events_api', { type: 'event_callback', event: { type: 'message', channel: 7 } });
    world.server.sockets.bring('events_api', {});
    world.server.sockets.bring('interactive', { type: 'view_submission' });
    world.server.sockets.bring('events_api', { event: { type: 'team_join' } });
    world.sends('one');
    await came(world, 'one');
    expect(world.texts).toEqual(['one']);
  });
});

describe('the line to Slack', () => {
  test('is renewed before Slack closes it: nothing is lost, all in order, and there are never more than two', async () => {
    const clock = new HastyClock();
    await using world = await ReconnectWorld.open({ clock });
    for (let n = 0; n < 5; n += 1) {
      clock.skip(6_000);
      world.sends(`a${n}`);
      world.server.sockets.disconnect(n % 2 === 0 ? 'warning' : 'refresh_requested');
      world.sends(`b${n}`);
      await waitFor(() => world.server.sockets.opened === n + 2 && world.server.sockets.count === 1);
    }
    await came(world, 'b4');
    await quiet(world);
    expect(world.texts).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'a4', 'b4']);
    expect(world.server.sockets.most).toBe(2);
    expect(world.health).toMatchObject({ state: 'running' });
  });

  test('comes back after a cut, also when Slack does not open one at first', async () => {
    await using world = await ReconnectWorld.open();
    world.server.faultNext('apps.connections.open', { status: 500 });
    world.server.faultNext('apps.connections.open', { status: 429, retryAfter: 1 });
    world.server.cutAll();
    world.sends('one');
    await came(world, 'one');
    await quiet(world);
    expect(world.server.sockets.most).toBe(1);
  });

  test('is renewed when it has been silent for four minutes', async () => {
    const clock = new HastyClock();
    await using world = await ReconnectWorld.open({ clock });
    world.server.sockets.mute();
    world.sends('one');
    clock.skip(239_000);
    expect(world.server.sockets.opened).toBe(1);
    clock.skip(1_000);
    await waitFor(() => world.server.sockets.opened === 2);
    clock.skip(2_000);
    await came(world, 'one');
    expect(world.server.sockets.most).toBe(2);
  });

  test('counts as lost when Slack does not close it: what it did not bring comes before what the next one brings', async () => {
    const clock = new HastyClock();
    await using world = await ReconnectWorld.open({ clock });
    world.sends('zero');
    await quiet(world);
    world.server.sockets.mute();
    world.sends('one');
    clock.skip(240_000);
    await waitFor(() => world.server.sockets.opened === 2);
    world.sends('two');
    await waitFor(() => world.server.sockets.sent.length > 2);
    expect(world.texts).toEqual(['zero']);
    clock.skip(2_000);
    await came(world, 'two');
    expect(world.texts).toEqual(['zero', 'one', 'two']);
  });

  test('waits half a minute when too many programs are connected, and tells to stop the others', async () => {
    const clock = new HastyClock();
    await using world = await ReconnectWorld.open({ clock });
    world.server.sockets.disconnect('too_many_websockets');
    await waitFor(() => world.health?.detail?.includes('stop the others'));
    clock.skip(29_000);
    expect(world.server.sockets.opened).toBe(1);
    clock.skip(1_000);
    await waitFor(() => world.server.sockets.opened === 2 && world.health?.state === 'running');
  });

  test('ends for good when Socket Mode is switched off', async () => {
    await using world = await ReconnectWorld.open();
    world.server.sockets.disconnect('link_disabled');
    await waitFor(() => world.health?.state === 'failed');
    expect(world.health?.detail).toContain('switch it on under "Socket Mode"');
  });
});

describe('a start', () => {
  test.each([
    ['botToken', 'xoxb-wrong', 'refused the bot token of channel "slack" (invalid_auth)'],
    ['appToken', 'xapp-wrong', 'refused the app-level token of channel "slack" (invalid_auth)'],
    ['botToken', 'xapp-mixed-up', 'channels.slack.botToken: expected the bot token, which begins with xoxb-'],
  ])('with a wrong %s fails with what to do', async (key, value, sentence) => {
    await using world = await ReconnectWorld.open({ config: { [key]: value } });
    expect(world.health).toMatchObject({ state: 'failed', detail: expect.stringContaining(sentence) });
    expect(JSON.stringify(world.log.lines)).not.toContain(value);
  });

  test('is tried again when Slack is not there', async () => {
    const clock = new HastyClock();
    await using world = await ReconnectWorld.open({
      clock,
      prepare: (server) => server.faultNext('auth.test', 'reset-before'),
    });
    await waitFor(() => world.health?.state === 'reconnecting');
    clock.skip(2_000);
    await waitFor(() => world.health?.state === 'running');
  });

  test('finds what was written while nobody listened, in threads too, once and in its order', async () => {
    const prepare = (server: ReconnectWorld['server']): void => {
      const say = (text: string, thread?: string): string =>
        server.sends('U0PERSON', 'D0PERSON', text, { as: 'nothing', ...(thread === undefined ? {} : { thread }) });
      const first = say('one');
      say('two', first);
      say('three');
      server.sends('U0PERSON', 'C0TEAM', 'not for the bot', { as: 'nothing' });
      server.sends('U0PERSON', 'C0TEAM', '<@U0TESTBOT> four', { as: 'nothing' });
      server.sends('U0NOBODY', 'C0TEAM', '<@U0TESTBOT> a stranger', { as: 'nothing' });
    };
    await using world = await ReconnectWorld.open({ prepare, heardUntil: Date.now() - 1_000 });
    await came(world, 'four');
    expect(world.texts).toEqual(['one', 'two', 'three', 'four']);
    expect(world.accepted[3]?.context.map(({ text }) => text)).toEqual(['not for the bot']);
  });

  test('looks for nothing when nobody was ever heard', async () => {
    await using world = await ReconnectWorld.open({
      prepare: (server) => void server.sends('U0PERSON', 'D0PERSON', 'old', { as: 'nothing' }),
    });
    world.sends('new');
    await came(world, 'new');
    expect(world.texts).toEqual(['new']);
    expect(world.server.calls.map(({ method }) => method)).not.toContain('users.conversations');
  });
});
