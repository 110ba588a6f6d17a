import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, startWorld, type World } from '../../support/world.ts';

const MINUTE_MS = 60_000;

/** A world whose model answers when the gate is opened, and where one turn works at a time. */
interface Scene {
  readonly world: World;
  readonly clock: SkippingClock;
  readonly asking: Asking;
}

async function scene(config: Readonly<Record<string, unknown>>): Promise<Scene> {
  const clock = new SkippingClock();
  const world = await startWorld({ clock, config });
  return { world, clock, asking: new Asking(world, clock) };
}

/** The model waits with its answers to what has this word, until the gate opens. */
function hold({ world }: Scene, word: string): { readonly open: () => void; readonly asked: () => Promise<unknown> } {
  const gate = Promise.withResolvers<undefined>();
  world.model.setHandler(async ({ view }) => {
    if (view.lastUserText.includes(word)) await gate.promise;
    return 'Yes.';
  });
  return {
    open: () => gate.resolve(undefined),
    asked: () => waitFor(() => world.model.inFlight > 0, { what: 'the model call' }),
  };
}

describe('with whenBusy: queue, /why says that a message', () => {
  let here: Scene;
  beforeAll(async () => (here = await scene({ agent: { whenBusy: 'queue' } })));
  afterAll(() => here.world[Symbol.asyncDispose]());
  const accepted = (): Promise<unknown> =>
    waitFor(() => here.world.telegram.unconfirmed.length === 0, { what: 'all is accepted' });

  test('waits, and then waited, for an earlier turn; and what became of the edits of both', async () => {
    const { world, clock, asking } = here;
    const gate = hold(here, 'first');
    const first = asking.send('first');
    await gate.asked();
    const second = asking.send('second');
    await accepted();
    clock.skip(2 * MINUTE_MS);
    expect(await asking.why(second)).toBe(
      'About “second”: It waits for 2 min: an earlier turn of this conversation is still running.',
    );
    world.telegram.userEdits(42, second, 'second, in other words');
    world.telegram.userEdits(42, first, 'the one before, in other words');
    await accepted();
    gate.open();
    await asking.over(second);
    expect(await asking.why(first)).toBe(
      'About “first”: It was edited after I had read it; the new words have an answer of their own.',
    );
    expect(await asking.why(second)).toBe(
      'About “second, in other words”: It was edited before I read it, so the answer is to the new words. It waited 2 min for an earlier turn of this conversation.',
    );
  });

  test('came twice, and has one answer', async () => {
    const { world, asking } = here;
    world.model.setHandler(() => 'Once.');
    const date = Math.floor(here.clock.now() / 1_000);
    const { messageId, updateId } = world.telegram.userSays(42, 'say it once', { date });
    await asking.over(messageId);
    world.telegram.duplicateUpdate(updateId, { asNew: true });
    await accepted();
    expect(await asking.why(messageId)).toBe('About “say it once”: It was answered.');
    expect(chatOf(world).filter((text) => text === 'Once.')).toHaveLength(1);
  });

  test('was edited after it was answered', async () => {
    const { world, asking } = here;
    world.model.setHandler(() => 'Noon.');
    const asked = await asking.say('when?');
    world.telegram.userEdits(42, asked, 'where?');
    await waitFor(() => chatOf(world).filter((text) => text === 'Noon.').length === 2, { what: 'a second answer' });
    expect(await asking.why(asked)).toBe(
      'About “when?”: It was edited after I had read it; the new words have an answer of their own.',
    );
  });
});

describe('/why says that a message', () => {
  test('was ended by /new, and by a newer message', async () => {
    const here = await scene({ agent: { whenBusy: 'interrupt' } });
    await using world = here.world;
    const { asking } = here;
    const ended = async (by: string): Promise<string> => {
      const gate = hold(here, 'long');
      const asked = asking.send('a long story');
      await gate.asked();
      asking.send(by);
      await asking.over(asked);
      gate.open();
      await waitFor(() => world.model.inFlight === 0, { what: 'the end of the call' });
      return await asking.why(asked);
    };
    expect(await ended('/new')).toBe('About “a long story”: It was stopped: /new was sent.');
    expect(await ended('a short one')).toBe('About “a long story”: It was stopped, because a newer message came.');
  });

  test('was edited while I worked on it', async () => {
    const here = await scene({});
    await using world = here.world;
    const { asking } = here;
    const gate = Promise.withResolvers<undefined>();
    world.model.setHandler(async ({ view }) => {
      if (view.toolResults.length > 0) return 'Both heard.';
      await gate.promise;
      return { calls: [{ name: 'list_dir', arguments: { path: '.' } }] };
    });
    const asked = asking.send('buy tea');
    await waitFor(() => world.model.inFlight > 0, { what: 'the model call' });
    world.telegram.userEdits(42, asked, 'buy coffee');
    await waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'all is accepted' });
    gate.resolve(undefined);
    await asking.over(asked);
    expect(await asking.why(asked)).toBe(
      'About “buy tea”: It was edited while I worked on it, and I read the new words, too. 1 other message had the same answer.',
    );
  });

  test('waits, and then waited, for a free place', async () => {
    const here = await scene({ agent: { maxConcurrentTurns: 1 } });
    await using world = here.world;
    const { clock, asking } = here;
    const gate = hold(here, 'long');
    const other = world.assistant.run('a long job');
    await gate.asked();
    const asked = asking.send('a quick one');
    await waitFor(async () => (await world.tape('telegram:42')).some(({ kind }) => kind === 'message'), {
      what: 'the turn',
    });
    clock.skip(3 * MINUTE_MS);
    await waitFor(async () => (await asking.why(asked)).includes('a free place'), { what: 'the wait' });
    expect(await asking.why(asked)).toBe(
      'About “a quick one”: It waits for a free place for 3 min: other conversations are being answered first.',
    );
    gate.open();
    await other;
    await asking.over(asked);
    expect(await asking.why(asked)).toBe(
      'About “a quick one”: It waited 3 min for a free place, because other conversations were being answered.',
    );
  });

  test('came while I was not running, before all that delayed it less; and first what was not done', async () => {
    const here = await scene({});
    await using world = here.world;
    const { clock, asking } = here;
    await world.assistant[Symbol.asyncDispose]();
    const plain = asking.send('are you there?');
    clock.skip(2 * 60 * MINUTE_MS);
    world.model.reply('Now I am.');
    await world.restart();
    await asking.over(plain);
    expect(await asking.why(plain)).toBe(
      'About “are you there?”: It reached me 2 h after it was sent, because I was not running.',
    );

    await world.assistant[Symbol.asyncDispose]();
    const several = asking.send('write it down');
    clock.skip(3 * 60 * MINUTE_MS);
    world.model.reply(
      { error: { status: 429, headers: { 'retry-after': '2' } } },
      { calls: [{ name: 'write_file', arguments: { path: '/etc/plan', content: 'x' } }] },
      'Not there.',
    );
    await world.restart();
    await waitFor(() => world.model.requests.length > 1, { what: 'the first call' });
    await waitFor(
      () => {
        clock.skip(1_000);
        return chatOf(world).some((text) => text.startsWith('Not there.'));
      },
      { what: 'the answer' },
    );
    await asking.over(several);
    expect(await asking.why(several)).toMatch(
      /^About “write it down”: Not done: writing \/etc\/plan was refused\. \/etc\/plan is outside the workspace \S+, which tools\.restrictToWorkspace does not allow\. It reached me 3 h after it was sent, because I was not running\. openai\/scripted-model had to be asked again after \d s, because openai allowed no more requests for the moment\.$/u,
    );
  });
});
