import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/config/home.ts';
import { connectAssistant } from '../../src/gateway/control.ts';
import { tapeName } from '../../src/session/tape-name.ts';
import { systemClock } from '../../src/util/clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

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
      /^I cannot read the file of this conversation \(EISDIR\), so I cannot go on with “the question” yet\./u,
    );
    expect((await assistant.run('hello')).text).toBe('The answer.');
    await rm(tape, { recursive: true });
    await rename(`${tape}.away`, tape);
    await waitFor(() => chatOf(world).length === 2, { timeoutMs: 20_000, what: 'the answer' });
    expect(chatOf(world)[1]).toBe('The answer.');
  });

  test('fetches a photo that waited across it once its platform is connected', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    world.telegram.userSays(OWNER, 'first');
    await waitFor(() => world.model.inFlight === 1);
    const photo = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    world.telegram.addFile('p2', photo, 'photos/p2.jpg');
    world.telegram.userSays(OWNER, '', {
      text: undefined,
      photo: [{ file_id: 'p2', file_size: photo.length }],
      caption: 'and this?',
    });
    await waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'the photo is accepted' });
    await world.assistant[Symbol.asyncDispose]();
    world.telegram.faultNext('getMe', { delayMs: 4_000 });
    world.model.setHandler(() => 'Seen.');
    await world.restart();
    await waitFor(() => chatOf(world).length === 2, { timeoutMs: 30_000, what: 'both answers' });
    const bodies = JSON.stringify(world.model.requests.map(({ body }) => body));
    expect(bodies).toContain(photo.toString('base64'));
    expect(bodies).not.toContain('could not be fetched');
  });
});

describe('an orderly stop', () => {
  test('leaves the turn of an attached client and its waiting message for the next start, which answers both', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    await using client = await connectAssistant(homePaths(world.home).socket, systemClock);
    if (client === undefined) throw new Error('nobody listens');
    const first = client.send({ session: 'main', text: 'a long job' }, {}).catch((error: unknown) => error);
    await waitFor(() => world.model.inFlight === 1);
    const second = client.send({ session: 'main', text: 'and another' }, {}).catch((error: unknown) => error);
    await waitFor(async () => (await client.info()).pid === process.pid);
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
