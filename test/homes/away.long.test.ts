import { expect, test } from 'vitest';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { startPair } from '../support/postgres-pair.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';
import { startProxy } from './proxy.ts';

const programs = postgresPrograms();

describeWith('PostgreSQL')('an owner whose home PostgreSQL keeps', () => {
  test.each(['ends', 'answers no more'] as const)(
    'is told once that the database is away when it %s, although nobody writes, and once that it is back',
    async (how) => {
      await using server = await startPostgres(programs ?? '');
      await using sockets = await tempFolder();
      await using proxy = await startProxy(await server.database(), sockets.path);
      const store = `${proxy.url}&leaseSeconds=5`;
      await using world = await startWorld({ config: { store } });
      world.model.reply('one');
      world.telegram.userSays(OWNER, 'first');
      await waitFor(() => chatOf(world).includes('one'));
      if (how === 'ends') await server.kill();
      else proxy.stall();
      await waitFor(() => chatOf(world).length > 1, { what: 'the notice' });
      const [notice] = chatOf(world).slice(1);
      expect(notice?.replace(/\(PostgreSQL [^()]+\)/u, '(PostgreSQL …)')).toBe(
        '⚠ The database that keeps this home (setting store) takes no writes (PostgreSQL …). ' +
          'To see what is wrong: npm run assistant -- doctor. ' +
          'What you write stays with the chat platform or in the inbox, and is answered as soon as the database can be written again, by this gateway or by another one that reaches it.',
      );
      world.model.setHandler(() => 'two');
      world.telegram.userSays(OWNER, 'second');
      const warns = (one: string): boolean => one.startsWith('The database that keeps this home');
      await waitFor(async () => (await world.assistant.call('info', {})).warnings.some(warns));
      if (how === 'ends') await server.start();
      else proxy.mend();
      await waitFor(() => chatOf(world).includes('two'), { what: 'the answer' });
      await waitFor(() => chatOf(world).some((text) => text.startsWith('The database of this home can be written')), {
        what: 'the notice that it is back',
      });
      expect(chatOf(world).filter((text) => text.startsWith('⚠'))).toHaveLength(1);
      expect(chatOf(world).at(-1)).toMatch(
        /^The database of this home can be written again, after .+\. No accepted message is lost; I answer the waiting ones now\.$/u,
      );
    },
  );

  test('is told although the platform refuses the notice at first', async () => {
    await using server = await startPostgres(programs ?? '');
    const store = await server.database();
    await using world = await startWorld({ config: { store } });
    world.model.reply('one');
    world.telegram.userSays(OWNER, 'first');
    await waitFor(() => chatOf(world).includes('one'));
    await server.kill();
    world.telegram.faultNext('sendMessage', { status: 429, retryAfter: 1 });
    await waitFor(() => chatOf(world).some((text) => text.startsWith('⚠')), { what: 'the notice' });
    await server.start();
  });

  test('reads in /status that it takes no writes for as long as its standby is away, although it can be read', async () => {
    await using pair = await startPair(programs ?? '');
    const store = `${await pair.database()}&leaseSeconds=5`;
    await using world = await startWorld({ config: { store } });
    world.model.reply('one');
    world.telegram.userSays(OWNER, 'first');
    await waitFor(() => chatOf(world).includes('one'));
    const isKnown = async (): Promise<boolean> =>
      (await world.assistant.call('info', {})).warnings.some((one) => one.includes('takes no writes'));
    await pair.killStandby();
    await waitFor(isKnown, { what: 'the trouble is known' });
    // Some rounds of the looks that could take it for over.
    const until = performance.now() + 6_000;
    let wasForgotten = false;
    await waitFor(async () => {
      wasForgotten ||= !(await isKnown());
      return performance.now() > until;
    });
    expect(wasForgotten).toBe(false);
    await pair.startStandby();
    await waitFor(async () => !(await isKnown()), { what: 'the trouble is over' });
    expect(chatOf(world).filter((text) => text.startsWith('⚠')).length).toBeLessThanOrEqual(1);
  });
});
