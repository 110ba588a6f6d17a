import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Runner = 'me' | 'an ordinary user';

/** A disk and memory. */
export const PLACES: Readonly<Record<'disk' | 'memory', string>> = { disk: tmpdir(), memory: '/dev/shm' };

const CHILD = fileURLToPath(new URL('landing-cases.ts', import.meta.url));
const UID = '12345';

/** What failed of all cases of landings, by name. Another user than "me" takes root. */
export async function failures(place: string, runner: Runner): Promise<unknown> {
  const base = await mkdtemp(join(place, 'assistant-test-'));
  try {
    chmodSync(base, 0o777);
    const isMe = runner === 'me' || process.getuid?.() !== 0;
    const as = isMe ? [] : ['setpriv', '--reuid', UID, '--regid', UID, '--clear-groups'];
    const [program, ...words] = [...as, process.execPath, CHILD, base];
    const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    child.stdout.on('data', (bytes: Buffer) => (said += bytes.toString()));
    await once(child, 'close');
    return JSON.parse(said);
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}
