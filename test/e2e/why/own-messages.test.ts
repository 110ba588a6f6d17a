import { describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import { recordingLog } from '../../support/recording-log.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../../support/world.ts';

const DAY_MS = 86_400_000;

describe('/why as a reply to a message of the assistant', () => {
  test('that answers a command, a message that was refused, or nothing', async () => {
    await using world = await startWorld({ config: { heartbeat: { enabled: false } } });
    const asking = new Asking(world);
    const sent = (words: string): number | undefined =>
      world.telegram.sentMessages.find(({ visibleText }) => visibleText.includes(words))?.messageId;
    await asking.say('/status');
    expect(await asking.why(sent('telegram: running'))).toBe(
      'About “/status”: It was a command, and its reply is all that it does.',
    );

    const gate = Promise.withResolvers<undefined>();
    world.model.setHandler(async () => {
      await gate.promise;
      return 'Yes.';
    });
    asking.send('begin');
    await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
    for (let n = 1; n <= 50; n += 1) asking.send(`wait ${n}`);
    const tooMany = asking.send('one more');
    const notice = await waitFor(() => sent('Too many messages are waiting here'), { what: 'the notice' });
    expect(await asking.why(tooMany)).toBe(
      'About “one more”: I did not take it: too many messages were waiting in this chat.',
    );
    expect(await asking.why(notice)).toBe(
      'About “Too many messages are waiting here, so I did not accept the newest ones. Please…”: It is a notice of mine, and no answer to a message.',
    );
    asking.send('/stop');
    gate.resolve(undefined);
    await waitFor(() => chatOf(world).some((text) => text.startsWith('Stopped')), { what: 'the stop' });
  });
});

test('/why knows what it received and said when no more is kept of it than that', async () => {
  const clock = new SkippingClock();
  const log = recordingLog();
  await using world = await startWorld({ clock, log, config: { heartbeat: { enabled: false } } });
  const asking = new Asking(world, clock);
  const asked = await asking.say('remember the key', OWNER, 'Under the mat.');
  const answer = world.telegram.sentMessages.find(({ visibleText }) => visibleText === 'Under the mat.');
  const pass = async (days: number): Promise<void> => {
    await world.restart();
    clock.skip(days * DAY_MS);
    for (let n = 0; n < 2; n += 1) {
      const before = log.lines.filter(({ message }) => message === 'sweep: done').length;
      clock.skip(3_700_000);
      const done = (): boolean => log.lines.filter(({ message }) => message === 'sweep: done').length > before;
      await waitFor(done, { what: 'a sweep' });
    }
  };
  await pass(31);
  expect(await asking.why(asked)).toBe('About a message: It was answered.');
  await pass(61);
  expect(await asking.why(asked)).toBe(
    'About a message that I do not know: I received it, but I keep no record of it any more: records are deleted after 90 days.',
  );
  expect(await asking.why(answer?.messageId)).toBe(
    'About a message: It is a message of mine, but what it was about is not kept any more.',
  );
  expect(await asking.why(987_654)).toBe(
    'About a message that I do not know: I never received it. The channel telegram is running now.',
  );
});
