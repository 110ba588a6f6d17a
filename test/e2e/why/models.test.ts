import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import type { Step } from '../../support/model-script.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { startWorld, type World } from '../../support/world.ts';

const BUSY: Step = { error: { status: 429, headers: { 'retry-after': '2' } } };
const REFUSED: Step = { error: { status: 401 } };

let world: World;
let asking: Asking;
const clock = new SkippingClock();
beforeAll(async () => {
  world = await startWorld({ clock, config: { agent: { fallbacks: ['openai/other-model'] } } });
  asking = new Asking(world, clock);
});
afterAll(() => world[Symbol.asyncDispose]());

/** Says something to a model that fails first, and lets the waits pass. */
async function say(text: string, ...steps: Step[]): Promise<number> {
  const before = world.model.requests.length;
  world.model.reply(...steps);
  const asked = asking.send(text);
  for (let n = 1; n < steps.length; n += 1) {
    await waitFor(() => world.model.requests.length >= before + n, { what: `call ${n}` });
    await waitFor(
      () => {
        clock.skip(5_000);
        return world.model.requests.length > before + n;
      },
      { what: `call ${n + 1}` },
    );
  }
  await asking.over(asked);
  return asked;
}

describe('/why names', () => {
  test('a provider that allowed no more requests, the wait, and no other model', async () => {
    const asked = await say('busy?', BUSY, 'Not any more.');
    expect(await asking.why(asked)).toMatch(
      /^About “busy\?”: openai\/scripted-model had to be asked again after \d s, because openai allowed no more requests for the moment\.$/u,
    );
  });

  test('a model that had to be asked several times', async () => {
    const broken: Step = { error: { status: 500 } };
    const asked = await say('broken?', broken, broken, 'Mended.');
    expect(await asking.why(asked)).toMatch(
      /^About “broken\?”: openai\/scripted-model had to be asked again 2 times, with \d s of waiting, because openai was overloaded or down\.$/u,
    );
  });

  test('the model that answered in the place of another, and why; and that the other one is left out for a while', async () => {
    const asked = await say('who?', REFUSED, 'The other one.');
    expect(await asking.why(asked)).toBe(
      'About “who?”: openai/other-model answered, because openai/scripted-model failed: openai refused the key.',
    );
    const next = await say('and now?', 'Still the other one.');
    expect(await asking.why(next)).toBe(
      'About “and now?”: openai/other-model answered, because openai/scripted-model had failed shortly before and was left out.',
    );
    clock.skip(3_600_000);
  });

  test('the failure of a model without a substitute, and after /retry what it had been', async () => {
    const asked = await say('fail', REFUSED, REFUSED);
    expect(await asking.why(asked)).toBe(
      'About “fail”: I could not answer it. Openai refused the API key. Correct providers.openai.apiKey, then send /retry.',
    );
    world.model.reply('There.');
    clock.skip(3_600_000);
    asking.send('/retry');
    await waitFor(async () => !(await asking.why(asked)).includes('could not'), { what: 'the second turn' });
    await asking.over(asked);
    expect(await asking.why(asked)).toBe(
      'About “fail”: It was answered again by /retry; before that, openai refused the API key. Correct providers.openai.apiKey, then send /retry.',
    );
  });
});
