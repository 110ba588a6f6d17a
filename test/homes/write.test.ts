import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';

const programs = postgresPrograms();
const INSERT = 'INSERT INTO public.words VALUES ($1)';

describeWith('PostgreSQL')('several statements that are sent to PostgreSQL as one message', () => {
  let server: Server;
  let postgres: Postgres;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
    // One connection, so that what a write leaves behind is met by the next one.
    postgres = await Postgres.open(await server.database(), { clock: systemClock, most: 1 });
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await postgres.query('DROP TABLE IF EXISTS public.words, public.late');
    await postgres.query('CREATE TABLE public.words (word text UNIQUE DEFERRABLE INITIALLY DEFERRED)');
  });

  const words = async (): Promise<readonly string[]> =>
    (await postgres.query('SELECT word FROM public.words ORDER BY word')).map(({ word }) => String(word));
  const insert = (word: string): { readonly text: string; readonly values: readonly unknown[] } => ({
    text: INSERT,
    values: [word],
  });

  test('are kept together', async () => {
    await postgres.write([insert('one'), insert('two')]);
    expect(await words()).toEqual(['one', 'two']);
  });

  test('have no effect when one of them fails, and the connection serves the next write', async () => {
    const divided = { text: 'SELECT 1 / count(*) FROM public.words WHERE word = $1', values: ['nothing'] };
    await expect(postgres.write([insert('one'), divided, insert('two')])).rejects.toMatchObject({
      code: 'store-refused',
      facts: { sqlState: '22012' },
    });
    expect(await words()).toEqual([]);
    await postgres.write([insert('three')]);
    expect(await words()).toEqual(['three']);
  });

  test('have no effect when the commit fails', async () => {
    await expect(postgres.write([insert('one'), insert('one')])).rejects.toMatchObject({
      code: 'store-refused',
      facts: { sqlState: '23505' },
    });
    expect(await words()).toEqual([]);
  });

  test('have no effect when one of them cannot be prepared, which is tried again with the next write', async () => {
    const late = { text: 'INSERT INTO public.late VALUES ($1)', values: ['late'] };
    await expect(postgres.write([insert('one'), late])).rejects.toMatchObject({
      code: 'store-refused',
      facts: { sqlState: '42P01' },
    });
    expect(await words()).toEqual([]);
    await postgres.query('CREATE TABLE public.late (word text)');
    await postgres.write([insert('one'), late]);
    expect(await words()).toEqual(['one']);
    expect(await postgres.query('SELECT word FROM public.late')).toEqual([{ word: 'late' }]);
  });
});
