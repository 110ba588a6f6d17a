import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { testWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const run = promisify(execFile);
const programs = postgresPrograms();
const PAGE = fileURLToPath(new URL('../../docs/several-machines.md', import.meta.url));

async function says(world: World, text: string, reply: string): Promise<void> {
  world.model.reply(reply);
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).includes(reply), { what: reply });
}

/** Writes the configuration of a home with this store into another folder, or its own. */
async function putStore(from: string, to: string, store: string): Promise<void> {
  const config = JSON.parse(await readFile(join(from, 'config.json'), 'utf8')) as object;
  await mkdir(to, { recursive: true, mode: 0o700 });
  await writeFile(join(to, 'config.json'), JSON.stringify({ ...config, store }), { mode: 0o600 });
}

testWith('PostgreSQL')(
  'a backup of the database, made and restored by the commands of the page while the assistant runs, has what was said before it',
  async () => {
    await using server = await startPostgres(programs ?? '');
    const [store, restored] = [await server.database(), await server.database()];
    const page = await readFile(PAGE, 'utf8');
    await using folder = await tempFolder();
    const dump = join(folder.path, 'homes.dump');
    const command = async (name: string, address: string): Promise<void> => {
      const line = new RegExp(`^${name} .*$`, 'mu').exec(page)?.[0] ?? '';
      const words = line.replaceAll("'", '').split(' ').slice(1);
      expect(words.join(' ')).toContain('ADDRESS');
      await run(
        join(programs ?? '', name),
        words.map((word) => word.replace('ADDRESS', address).replace('homes.dump', dump)),
      );
    };
    await using world = await startWorld({ furnish: (home) => putStore(home, home, store) });
    await says(world, 'my name is Ada', 'hello Ada');
    await command('pg_dump', store);
    await says(world, 'and I am 36', 'noted');
    await world.assistant[Symbol.asyncDispose]();
    await command('pg_restore', restored);
    const empty = join(folder.path, 'home');
    await putStore(world.home, empty, restored);
    await world.restart(empty);
    await says(world, 'what is my name?', 'Ada');
    const asked = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(asked).toContain('my name is Ada');
    expect(asked).not.toContain('and I am 36');
  },
);
