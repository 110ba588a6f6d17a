import { describe, expect, test } from 'vitest';
import { gone, OTHERS, startDyingHome, type DyingHome, type DyingStage } from '../support/dying-home.ts';
import { waitFor } from '../support/wait.ts';

const slow = { timeoutMs: 90_000 };
const [ANN = 0, BOB = 0] = OTHERS;

async function dieAs(home: DyingHome, stage: DyingStage, what: string): Promise<void> {
  const child = home.start(stage);
  await waitFor(() => gone(child), { ...slow, what });
}

describe.concurrent('a turn that kills the process', () => {
  test(
    'while it is closed gets its bare answer at the third try, without the hook and without markup',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      home.reply('The **poison** is in the answer.');
      home.say('hello');
      await dieAs(home, 'dispatch', 'the first death');
      await dieAs(home, 'dispatch', 'the second death');
      expect(home.chat()).toEqual([]);
      home.start('dispatch');
      await waitFor(() => home.chat().length === 1, slow);
      expect(home.chat()).toEqual(['The **poison** is in the answer.']);
      expect(home.model.requests).toHaveLength(1);
    },
  );

  test(
    'is given up alone: turns of others that were open all the while are answered',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      home.model.setHandler(() => ({ fault: 'hang' }));
      const first = home.start('poison');
      home.say('the wish of Ann', ANN);
      await waitFor(() => home.bodies().includes('wish of Ann'), slow);
      home.say('this is poison');
      await waitFor(() => gone(first), { ...slow, what: 'the first death' });
      home.say('the wish of Bob', BOB);
      await dieAs(home, 'poison', 'the second death');
      home.model.setHandler(({ body }) =>
        JSON.stringify(body).includes('poison') ? 'I drank it.' : { text: 'Granted.', delayMs: 2_000 },
      );
      let child = home.start('poison');
      await waitFor(() => gone(child) || home.chat().length >= 3, { ...slow, what: 'the third death or the end' });
      if (gone(child)) child = home.start('poison');
      await waitFor(() => home.chat().length >= 3 || gone(child), { ...slow, what: 'all are told' });
      if (gone(child)) home.start('poison');
      // Sent again after a death it may be marked.
      const granted = (): number => home.chat().filter((text) => text.endsWith('Granted.')).length;
      await waitFor(() => home.chat().length >= 3 && granted() >= 2, { ...slow, what: 'all are told' });
      expect(granted()).toBe(2);
      expect(home.chat().filter((text) => text.includes('gave up on it'))).toEqual([
        'I was stopped 3 times while working on “this is poison” and gave up on it. /retry this is poison runs it again.',
      ]);
    },
  );
});

test(
  'more than five starts in five minutes end in safe mode, which says so once and is left by /restart',
  { timeout: 120_000 },
  async () => {
    await using home = await startDyingHome();
    const said = home.chat;
    home.reply('Hello.');
    home.say('hello');
    const child = home.start('never');
    // Deaths between the bytes and their record make marked copies, and in the end a word that nobody knows.
    await waitFor(() => said().length === 1 && home.delivered(), slow);
    child.kill('SIGKILL');
    await waitFor(() => gone(child) && !home.polls(), slow);
    for (let life = 2; life <= 5; life += 1) {
      const next = home.start('never');
      await waitFor(() => home.polls(), { ...slow, what: `life ${life}` });
      next.kill('SIGKILL');
      await waitFor(() => gone(next) && !home.polls(), slow);
    }
    expect(said()).toHaveLength(1);
    const sixth = home.start('never');
    await waitFor(() => said().length === 2, { ...slow, what: 'the notice' });
    expect(said()[1]).toMatch(
      /^I am in safe mode, because I was started 6 times within five minutes.*\/restart ends safe mode/su,
    );
    home.reply('Still here.');
    home.say('are you there?');
    await waitFor(() => said().length === 3, slow);
    expect(said()[2]).toBe('Still here.');
    home.say('/status');
    await waitFor(() => said().length === 4, slow);
    expect(said()[3]).toMatch(/⚠ I am in safe mode/u);
    sixth.kill('SIGTERM');
    await waitFor(() => gone(sixth), slow);
    home.start('never');
    home.say('/status');
    await waitFor(() => said().length === 5, slow);
    expect(said()[4]).not.toMatch(/safe mode/u);
  },
);
