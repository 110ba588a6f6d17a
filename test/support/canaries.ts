import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { errorCode } from '../../src/core/util/errors.ts';
import type { FakeModel } from './fake-model.ts';
import type { FakeTelegram } from './fake-telegram.ts';

/** The key that every world gives its model server: nothing but the header of a request may ever hold it. */
export const MODEL_KEY = 'canary-model-key-5d1c07e3a9';
/** In the environment of every world's assistant, and for none of its children. */
export const STRAY_VARIABLE = { name: 'STRAY_SECRET', value: 'canary-variable-81b2f64c0d' } as const;

/** Where secrets belong. */
const KEEPERS = new Set(['config.json', 'gateway.token']);

const encodings = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('hex'),
  ...[0, 1, 2].map((shift) =>
    Buffer.from(`${'x'.repeat(shift)}${secret}`)
      .toString('base64')
      .replace(/=+$/u, '')
      .slice(shift === 0 ? 0 : shift + 1, -1),
  ),
];

interface CanaryPaths {
  readonly home: string;
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
}

/** Throws when a secret of the configuration, or a variable of the process, is found where nobody may read it. */
export async function assertNoCanary({ home, telegram, model }: CanaryPaths): Promise<void> {
  const needles = [MODEL_KEY, telegram.token, STRAY_VARIABLE.value].flatMap(encodings);
  const found = (text: string): boolean => needles.some((needle) => text.includes(needle));
  const leaks: string[] = [];
  for (const file of await filesIn(home)) {
    if (KEEPERS.has(relative(home, file))) continue;
    // A temporary file may be gone by now, and what took its place is looked at under that name.
    const bytes = await readFile(file).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
    if (found(bytes.toString('latin1'))) leaks.push(relative(home, file));
  }
  if ([...model.requests, ...model.asides].some(({ body }) => found(JSON.stringify(body))))
    leaks.push('a request to the model');
  if (telegram.calls.some(({ payload }) => found(JSON.stringify(payload)))) leaks.push('a call of the Bot API');
  if (leaks.length > 0) throw new Error(`a secret got into ${leaks.join(', ')}`);
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
