import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import type { Step } from '../../support/model-script.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { settle } from '../../support/virtual-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Before the clocks of Vienna are put forward, on 28 March 2027 at 2. */
const START = Date.UTC(2027, 2, 27, 6);

const cron = (given: Readonly<Record<string, unknown>>): Step => ({ calls: [{ name: 'cron', arguments: given }] });

interface Timed extends AsyncDisposable {
  readonly world: World;
  readonly asking: Asking;
  readonly clock: SkippingClock;
  readonly skip: (ms: number) => Promise<void>;
  /** The cause of what is asked about from the command line. */
  readonly causeOf: (about: string) => Promise<string>;
}

async function timed(config: Readonly<Record<string, unknown>> = {}): Promise<Timed> {
  const clock = new SkippingClock(START);
  const world = await startWorld({
    clock,
    config: { agent: { timezone: 'Europe/Vienna' }, heartbeat: { enabled: false }, ...config },
  });
  return {
    world,
    asking: new Asking(world),
    clock,
    skip: async (ms) => {
      await settle();
      clock.skip(ms);
      await settle();
    },
    causeOf: async (about) => (await world.assistant.call('why', { about, count: 10 })).stories[0]?.cause ?? '',
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const said = (world: World, text: string): Promise<unknown> =>
  waitFor(() => chatOf(world).includes(text), { what: text });

describe('why a job', () => {
  test('has not run yet, ran, was switched off, and has ended', async () => {
    await using own = await timed();
    const { world, asking, causeOf } = own;
    await asking.say('tea', OWNER, cron({ action: 'add', when: 'every 2h', text: 'Drink tea.' }), 'Set.');
    expect(await causeOf('drink-tea')).toBe('It has not come due yet.');
    await own.skip(2 * HOUR);
    await said(world, 'Drink tea.');
    await waitFor(async () => (await causeOf('drink-tea')).includes('arrived'));
    expect(await causeOf('drink-tea')).toMatch(
      /^It ran at Sat 2027-03-27 09:0\d(?::\d\d)? \(Europe\/Vienna\), and what it said arrived\.$/u,
    );
    expect(await asking.why()).toBe(
      'About “Drink tea.”: It came from the reminder drink-tea, which sends its text as it is when it is due; no model was asked.',
    );
    await world.assistant.call('cron', { action: 'disable', id: 'drink-tea' });
    expect(await causeOf('drink-tea')).toMatch(/arrived\. It is switched off\.$/u);
    await world.assistant.call('cron', { action: 'remove', id: 'drink-tea' });
    expect(await causeOf('drink-tea')).toMatch(/It has ended or was removed, and does not run any more\.$/u);
  });

  test('did not run while the assistant was off, ran late after it, and failed', async () => {
    await using own = await timed({ cron: { graceMinutes: 60 } });
    const { world, asking, clock, causeOf } = own;
    const daily = cron({ action: 'add', when: '0 9 * * *', text: 'Count the mails.', kind: 'agent' });
    await asking.say('mails', OWNER, daily, 'Set.');
    await world.assistant[Symbol.asyncDispose]();
    clock.skip(9 * HOUR);
    await world.restart();
    await waitFor(async () => (await causeOf('count-the-mails')).startsWith('It did not run'));
    expect(await causeOf('count-the-mails')).toBe(
      'It did not run at Sat 2027-03-27 09:00 (Europe/Vienna): I was not running then.',
    );
    await world.assistant[Symbol.asyncDispose]();
    clock.skip(16 * HOUR + 30 * MINUTE);
    world.model.reply({ error: { status: 400, message: 'no such model' } });
    await world.restart();
    await waitFor(async () => (await causeOf('count-the-mails')).includes('failed'));
    expect(await causeOf('count-the-mails')).toMatch(
      /^It ran at Sun 2027-03-28 09:00 \(Europe\/Vienna\), \d+ min late, and failed\. The job count-the-mails began it\. I could not answer it\./u,
    );
  });

  test('of a time that does not exist ran when the clocks were put forward', async () => {
    await using own = await timed();
    const { world, asking, causeOf } = own;
    await asking.say('owl', OWNER, cron({ action: 'add', when: '30 2 * * *', text: 'Hoot.' }), 'Set.');
    await own.skip(19 * HOUR);
    await said(world, 'Hoot.');
    await waitFor(async () => (await causeOf('hoot')).includes('arrived'));
    expect(await causeOf('hoot')).toBe(
      'It ran at Sun 2027-03-28 03:00 (Europe/Vienna), when the clocks were put forward, and what it said arrived.',
    );
  });
});

describe('why the heartbeat', () => {
  const TASKS = '- [ ] check the backup\n';
  const beat = (action: 'skip' | 'run', tasks: string): Step => ({
    calls: [{ name: 'heartbeat', arguments: { action, tasks } }],
  });

  test('is switched off', async () => {
    await using own = await timed();
    expect(await own.causeOf('heartbeat')).toBe('It is switched off (heartbeat.enabled).');
  });

  test('has nothing to look at, had nothing to do, was outside its hours, and did something', async () => {
    await using own = await timed({ heartbeat: { everyMinutes: 30, activeHours: '07:00-20:00' } });
    const { world, asking, causeOf } = own;
    await asking.say('hi', OWNER, 'Hi.');
    await own.skip(31 * MINUTE);
    await waitFor(async () => (await causeOf('heartbeat')) !== 'It has not looked yet. Its state now: on.');
    expect(await causeOf('heartbeat')).toBe('It has not looked yet. Its state now: nothing is open.');
    await mkdir(world.workspace, { recursive: true });
    await writeFile(join(world.workspace, 'HEARTBEAT.md'), TASKS);
    world.model.reply(beat('skip', 'it is not time yet'));
    await own.skip(31 * MINUTE);
    await waitFor(async () => (await causeOf('heartbeat')).startsWith('It looked'));
    expect(await causeOf('heartbeat')).toBe('It looked and had nothing to do: it is not time yet. Its state now: on.');
    world.model.reply(beat('run', 'check the backup'), 'All is well.', {
      calls: [{ name: 'evaluate_notification', arguments: { should_notify: false, reason: 'all is well' } }],
    });
    await own.skip(31 * MINUTE);
    await waitFor(async () => (await causeOf('heartbeat')).includes('did not tell'));
    expect(await causeOf('heartbeat')).toBe(
      'It did “check the backup” and did not tell you: all is well. Its state now: on.',
    );
    await own.skip(13 * HOUR);
    await waitFor(async () => (await causeOf('heartbeat')).includes('hours'));
    expect(await causeOf('heartbeat')).toMatch(/Its state now: outside its hours\.$/u);
  });
});
