import { TABLES } from '../support/extensions.ts';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { storedName } from '../../src/host/homes/stored-values.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { plainTurn } from '../session/tapes.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { digests, openCopy, type Copy } from './world.ts';

const programs = postgresPrograms();

async function says(copy: Copy, id: string): Promise<void> {
  await copy.journal.inbox.accept([inboundMessage({ id, externalId: `m:${id}`, text: 'a question' })]);
}

/** How far a home is written. */
interface Stand {
  readonly revision: number;
  readonly sequences: string;
}

async function stand(postgres: Postgres): Promise<Stand> {
  const [row] = await postgres.query('SELECT revision, sequences::text AS sequences FROM assistant.homes');
  return { revision: Number(row?.['revision']), sequences: String(row?.['sequences']) };
}

/** Takes out of the database what was written later, as a standby that had no more would not have it. */
async function goBack(postgres: Postgres, { revision, sequences }: Stand): Promise<void> {
  const tables = ['assistant.tapes', 'assistant.files', ...tablesAfter(journalMigrations, TABLES).map(storedName)];
  await postgres.transaction([
    ...tables.map((table) => ({ text: `DELETE FROM ${table} WHERE revision > ${revision}` })),
    { text: 'UPDATE assistant.homes SET revision = $1, sequences = $2::json', values: [revision, sequences] },
  ]);
}

/** A copy with an older and a newer message, after which the database lost the newer one, and noticed it with a third. */
async function rewound(url: string, folder: string, postgres: Postgres): Promise<void> {
  await using copy = await openCopy(url, folder);
  await says(copy, 'old');
  await writeFile(join(folder, 'workspace', 'gone.txt'), 'removed later');
  copy.home.files.touched('workspace');
  const tape = await copy.sessions.open('k');
  await tape.append(plainTurn('t1', 'a question', 'an answer'));
  await copy.home.writer.written();
  const before = await stand(postgres);
  await says(copy, 'new');
  await tape.append(plainTurn('t2', 'another question', 'another answer'));
  await writeFile(join(folder, 'workspace', 'note.txt'), 'new');
  await rm(join(folder, 'workspace', 'gone.txt'));
  copy.home.files.touched('workspace');
  await copy.home.writer.written();
  await goBack(postgres, before);
  await expect(says(copy, 'newest')).rejects.toMatchObject({ code: 'home-rewound' });
  await waitFor(() => copy.failures.length > 0);
  expect(copy.home.lease.lost.aborted).toBe(true);
}

describeWith('PostgreSQL')('a database that lost what it had committed', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('gets all of the home again from the gateway that ran it', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using other = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await rewound(url, folder.path, postgres);
    const tape = await readFile(join(folder.path, 'sessions', 'k.jsonl'), 'utf8');
    {
      await using copy = await openCopy(url, folder.path);
      expect(copy.home.brought).toBe('sent-again');
      expect(copy.journal.messageCounts().in).toBe(3);
      await says(copy, 'after');
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    {
      await using copy = await openCopy(url, other.path);
      expect(copy.journal.messageCounts().in).toBe(4);
      expect(await readFile(join(other.path, 'sessions', 'k.jsonl'), 'utf8')).toBe(tape);
      expect(await readFile(join(other.path, 'workspace', 'note.txt'), 'utf8')).toBe('new');
      await expect(readFile(join(other.path, 'workspace', 'gone.txt'))).rejects.toThrow('ENOENT');
    }
    await using copy = await openCopy(url, folder.path);
    expect(copy.home.brought).toBe('caught-up');
  });

  test('keeps what another gateway made of the home meanwhile', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using other = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await rewound(url, folder.path, postgres);
    {
      await using copy = await waitFor(() => openCopy(url, other.path).catch(() => undefined));
      expect(copy.journal.messageCounts().in).toBe(1);
      await says(copy, 'other');
    }
    await using copy = await openCopy(url, folder.path);
    expect(copy.home.brought).toBe('rebuilt');
    expect(copy.journal.messageCounts().in).toBe(2);
  });
});
