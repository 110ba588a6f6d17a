import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { missing } from '../support/programs.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

const CHILD = fileURLToPath(new URL('../support/landing-cases.ts', import.meta.url));
const UID = '12345';

/** What failed of all cases, by name. */
async function failures(base: string, user: 'me' | 'an ordinary user'): Promise<unknown> {
  const as = user === 'me' ? [] : ['setpriv', '--reuid', UID, '--regid', UID, '--clear-groups'];
  const [program = '', ...words] = [...as, process.execPath, CHILD, base];
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
  await once(child, 'close');
  return JSON.parse(said);
}

const isRoot = process.getuid?.() === 0;
const places = [tmpdir(), ...(existsSync('/dev/shm') ? ['/dev/shm'] : [])];

describe.skipIf(missing('bubblewrap', 'python3') !== undefined)('every case of a landing', () => {
  test.each(places.flatMap((place) => (['me', 'an ordinary user'] as const).map((user) => ({ place, user }))))(
    'holds in $place as $user',
    async ({ place, user }) => {
      // An ordinary user is what "me" is then.
      if (user !== 'me' && !isRoot) return;
      const base = await mkdtemp(join(place, 'assistant-test-'));
      try {
        chmodSync(base, 0o777);
        expect(await failures(base, user)).toEqual({});
      } finally {
        await rm(base, { recursive: true, force: true });
      }
    },
  );
});
