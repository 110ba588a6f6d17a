import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { startEverywhere } from '../support/three-platforms.ts';
import { unreadableMarkdown } from '../support/unreadable-markdown.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** Without previews, so that an answer is one send. */
const QUIET = { channels: { telegram: { stream: false } } };

async function asks(world: World, text: string, replies: number): Promise<void> {
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length >= replies, { what: `${replies} messages` });
}

const isDelivered = (world: World): Promise<unknown> =>
  waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'an empty outbox' });

describe('an answer whose fate nobody knows', () => {
  test('arrives twice at most, the second time marked, and the next answer says what may be missing', async () => {
    await using world = await startWorld({ config: QUIET });
    world.model.reply('The first answer.', 'The second.');
    world.telegram.faultNext('sendMessage', 'reset-after', 2);
    await asks(world, 'hello', 2);
    await waitFor(async () => (await world.assistant.call('outboxList', {}))[0]?.state === 'dead');
    expect(chatOf(world)).toEqual(['The first answer.', '↻ The first answer.']);
    await asks(world, 'and?', 4);
    expect(chatOf(world).slice(2)).toEqual([
      expect.stringMatching(
        /^An earlier message here may not have reached you: it was sent twice and never confirmed\..*“The first answer\.”/u,
      ),
      'The second.',
    ]);
  });
});

describe('an answer during an outage of minutes', () => {
  test.each([
    ['a proxy that answers 502 with a page', { status: 502, body: 'html' }],
    ['connections that are cut', 'reset-before'],
    ['connections that are cut after the message was taken', 'reset-after'],
  ] as const)('arrives when Telegram answers again: %s', async (_, fault) => {
    const clock = new SkippingClock();
    await using world = await startWorld({ config: QUIET, clock });
    world.model.setHandler(({ view }) => {
      if (view.lastUserText.includes('hello')) world.telegram.setFaultHandler(() => fault);
      return 'The answer.';
    });
    world.telegram.userSays(OWNER, 'hello');
    const tried = (): number => world.telegram.calls.filter(({ method }) => method === 'sendMessage').length;
    await waitFor(() => tried() > 0, { what: 'the first try' });
    const skipping = setInterval(() => clock.skip(10_000), 200);
    await waitFor(() => world.telegram.calls.filter(({ method }) => method === 'getMe').length > 4, {
      timeoutMs: 20_000,
      what: 'four looks whether Telegram answers',
    }).finally(() => clearInterval(skipping));
    expect(tried()).toBe(1);
    world.telegram.setFaultHandler(undefined);
    const after = setInterval(() => clock.skip(10_000), 200);
    await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, {
      what: 'an empty outbox',
    }).finally(() => clearInterval(after));
    expect(chatOf(world)).toEqual([...(fault === 'reset-after' ? ['The answer.'] : []), '↻ The answer.']);
  });
});

describe('an answer that a platform refuses for good', () => {
  test('is told to the owner on another platform', async () => {
    await using all = await startEverywhere();
    all.world.model.setHandler(() => 'An answer.');
    await all.turn('discord', 'hello');
    all.world.telegram.faultNext(
      'sendMessage',
      { status: 403, description: 'Forbidden: bot was blocked by the user' },
      9,
    );
    all.sends('telegram', 'are you there?');
    await waitFor(() => all.texts('discord').length >= 2, { what: 'a notice on Discord' });
    expect(all.texts('discord').at(-1)).toMatch(/did not arrive: .*blocked by the user.*“An answer\.”/u);
  });
});

describe('the notice that a message was given up', () => {
  test('is owed as its answer would be: when it is refused, the next answer begins with it', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ config: QUIET, clock });
    // A file is where the folder of the sessions was.
    const sessions = join(world.home, 'sessions');
    await rm(sessions, { recursive: true, force: true });
    await writeFile(sessions, '');
    const refusal = { status: 400, description: 'Bad Request: no rights' };
    const isNotice = (params: object): boolean => JSON.stringify(params).includes('An error inside me');
    world.telegram.setFaultHandler(({ payload }) => (isNotice(payload) ? refusal : undefined));
    world.telegram.userSays(OWNER, 'hello');
    // Seldom enough that a send in flight on a busy machine does not reach its deadline.
    const skipping = setInterval(() => clock.skip(30_000), 500);
    const isRefused = async (): Promise<boolean> =>
      (await world.assistant.call('outboxList', {})).some(({ state }) => state === 'dead');
    await waitFor(isRefused, { what: 'the notice is refused' }).finally(() => clearInterval(skipping));
    await rm(sessions);
    world.telegram.setFaultHandler(undefined);
    world.model.reply('The answer.');
    await asks(world, 'and now?', chatOf(world).length + 2);
    expect(chatOf(world).slice(-2)).toEqual([
      expect.stringMatching(/^An earlier message here did not reach you: .*“An error inside me kept me/u),
      'The answer.',
    ]);
  });
});

describe('a text that cannot be rendered', () => {
  test('arrives as it is, and the chat goes on', async () => {
    using _ = unreadableMarkdown('poison');
    await using world = await startWorld({ config: QUIET });
    world.model.reply('**poison** & <more>', 'After it.');
    await asks(world, 'hello', 1);
    await asks(world, 'and?', 2);
    expect(chatOf(world)).toEqual(['**poison** & <more>', 'After it.']);
    await isDelivered(world);
  });
});

describe('a clock that is put back by six hours', () => {
  test('delays no answer', async () => {
    let back = 0;
    const clock: Clock = {
      now: () => systemClock.now() - back,
      monotonic: () => systemClock.monotonic(),
      timer: (ms, callback, options) => systemClock.timer(ms, callback, options),
    };
    await using world = await startWorld({ config: QUIET, clock });
    world.model.reply('At last.');
    world.telegram.faultNext('sendMessage', { status: 429, retryAfter: 2 });
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(async () => (await world.assistant.call('outboxList', {}))[0]?.reason);
    back = 6 * 3_600_000;
    await waitFor(() => chatOf(world).length === 1, { timeoutMs: 8_000, what: 'the answer' });
    expect(chatOf(world)).toEqual(['At last.']);
  });
});
