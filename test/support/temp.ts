import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is gone when the test is. */
export async function tempFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'assistant-test-'));
  return { path, [Symbol.asyncDispose]: () => remove(path) };
}

/** At once takes half of the processor time; it fails where something is still written, which the other way waits for. */
async function remove(path: string): Promise<void> {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
  }
}
