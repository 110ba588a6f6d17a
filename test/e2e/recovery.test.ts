import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { say } from '../support/say.ts';

describe('a start', () => {
  test('goes on without a session whose file cannot be read, tells its chat, and takes the turn up once it can', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    world.telegram.userSays(OWNER, 'the question');
    await waitFor(() => world.model.inFlight === 1);
    const tape = join(world.home, 'sessions', tapeName(`telegram:${OWNER}`));
    await world.assistant[Symbol.asyncDispose]();
    await rename(tape, `${tape}.away`);
    await mkdir(tape);
    world.model.setHandler(() => 'The answer.');
    const assistant = await world.restart();
    await waitFor(() => chatOf(world).length === 1, { what: 'the notice' });
    expect(chatOf(world)[0]).toMatch(
      /^I cannot read the file of this conversation \(EISDIR\), so I cannot continue with “the question” yet\./u,
    );
    expect((await assistant.run('hello')).text).toBe('The answer.');
    await rm(tape, { recursive: true });
    await rename(`${tape}.away`, tape);
    await waitFor(() => chatOf(world).length === 2, { timeoutMs: 60_000, what: 'the answer' });
    expect(chatOf(world)[1]).toBe('The answer.');
  });

  test('is not needed: a message to a session whose file cannot be read waits, and status, health and doctor name the file', async () => {
    await using world = await startWorld();
    const tape = join(world.home, 'sessions', tapeName(`telegram:${OWNER}`));
    await mkdir(tape, { recursive: true });
    world.model.setHandler(() => 'The answer.');
    world.telegram.userSays(OWNER, 'the question');
    await waitFor(() => chatOf(world).length === 1, { what: 'the notice' });
    expect(chatOf(world)[0]).toMatch(
      /^I cannot read the file of this conversation \(EISDIR\), so I cannot continue with “the question” yet\./u,
    );
    const named = expect.stringContaining(`${tape} can't be read`);
    expect((await world.assistant.call('health', {})).warnings).toContainEqual(named);
    const line = new CommandLine();
    await line.run('doctor', '--offline', '--home', world.home);
    expect(line.out).toContain(`${tape} can't be read`);
    await rm(tape, { recursive: true });
    await waitFor(() => chatOf(world).length === 2, { timeoutMs: 60_000, what: 'the answer' });
    expect(chatOf(world)[1]).toBe('The answer.');
    expect((await world.assistant.call('health', {})).warnings).not.toContainEqual(named);
  });

  test('fetches a photo that waited across it once its platform is connected', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    await waitWithPhoto(world);
    await world.assistant[Symbol.asyncDispose]();
    world.telegram.faultNext('getMe', { delayMs: 4_000 });
    world.model.setHandler(() => 'Seen.');
    await world.restart();
    await waitFor(() => chatOf(world).length === 2, { timeoutMs: 60_000, what: 'both answers' });
    const bodies = JSON.stringify(world.model.requests.map(({ body }) => body));
    expect(bodies).toContain(PHOTO.toString('base64'));
    expect(bodies).not.toContain('could not be fetched');
  });

  test('goes on without a photo whose platform does not connect for two minutes, and tells the person once it does', async () => {
    const clock = new SkippingClock();
    await using world = await startWorld({ clock, config: { agent: { whenBusy: 'queue' } } });
    world.model.reply({ fault: 'hang' });
    await waitWithPhoto(world);
    await world.assistant[Symbol.asyncDispose]();
    world.telegram.setFaultHandler(({ method }) => (method === 'getMe' ? 'reset-before' : undefined));
    world.model.setHandler(({ view }) => (view.lastUserText.includes('and this?') ? 'What is it?' : 'Heard.'));
    await world.restart();
    await waitFor(() => world.model.requests.length === 2, { what: 'the first message is taken up' });
    const withoutPhoto = (): boolean => {
      clock.skip(2_000);
      return world.model.requests.length === 3;
    };
    await waitFor(withoutPhoto, { what: 'two minutes have passed' });
    expect(world.model.requests[2]?.view.lastUserText).toContain('and this?');
    expect(JSON.stringify(world.model.requests[2]?.body)).toContain('could not be fetched: telegram is not connected');
    expect(chatOf(world)).toEqual([]);
    world.telegram.setFaultHandler(undefined);
    const connected = (): boolean => {
      clock.skip(2_000);
      return chatOf(world).length === 3;
    };
    await waitFor(connected, { what: 'the notice and both answers' });
    expect(chatOf(world)).toContain(
      'I could not get the image, because telegram was not connected for two minutes, and continued without it. Please send it again.',
    );
    expect(chatOf(world)).toEqual(expect.arrayContaining(['Heard.', 'What is it?']));
  });
});

const PHOTO = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** A message is being answered, and one with a photo is accepted and waits. */
async function waitWithPhoto(world: World): Promise<void> {
  world.telegram.userSays(OWNER, 'first');
  await waitFor(() => world.model.inFlight === 1);
  world.telegram.addFile('p2', PHOTO, 'photos/p2.jpg');
  world.telegram.userSays(OWNER, '', {
    text: undefined,
    photo: [{ file_id: 'p2', file_size: PHOTO.length }],
    caption: 'and this?',
  });
  await waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'the photo is accepted' });
}

describe('an orderly stop', () => {
  test('leaves the turn of an attached client and its waiting message for the next start, which answers both', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    await using client = await connectAssistant(homePaths(world.home).socket, systemClock);
    if (client === undefined) throw new Error('nobody listens');
    const first = say(client, 'a long job').catch((error: unknown) => error);
    await waitFor(() => world.model.inFlight === 1);
    const second = say(client, 'and another').catch((error: unknown) => error);
    await waitFor(async () => (await client.call('info', {})).pid === process.pid);
    world.model.setHandler(() => 'Done.');
    await world.restart();
    expect(await first).toMatchObject({ code: 'connection-lost' });
    expect(await second).toMatchObject({ code: 'connection-lost' });
    const ends = async (): Promise<readonly string[]> =>
      (await world.tape('terminal:main')).flatMap((entry) => (entry.kind === 'turn-end' ? [entry.outcome] : []));
    await waitFor(async () => (await ends()).length >= 1, { what: 'the answer' });
    await waitFor(() => JSON.stringify(world.model.requests.at(-1)?.body).includes('and another'), {
      what: 'the second message',
    });
    expect(await ends()).not.toContain('stopped');
  });

  test('lets nobody wait who called run(): the turn is continued at the next start', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    const running = world.assistant.run('a long job').catch((error: unknown) => error);
    await waitFor(() => world.model.inFlight === 1);
    world.model.setHandler(() => 'Done.');
    await world.restart();
    expect(await running).toMatchObject({ code: 'connection-lost' });
    await waitFor(async () =>
      (await world.tape('terminal:main')).some((entry) => entry.kind === 'turn-end' && entry.outcome === 'answered'),
    );
  });
});
