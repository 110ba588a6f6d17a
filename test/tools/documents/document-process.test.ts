import { open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { documentReader, type ReadDocument } from '../../../src/extensions/files/documents/document-reader.ts';
import { createReader } from '../../../src/core/tools/reading/reader.ts';
import { systemClock } from '../../../src/core/util/clock.ts';
import { childIds, childrenNamed, type ChildProcess } from '../../support/child-processes.ts';
import { fileTools } from '../../support/file-tools.ts';
import { sandboxWorld } from '../../support/sandbox-world.ts';
import { tempFolder } from '../../support/temp.ts';
import { testWith } from '../../support/test-with.ts';
import { waitFor } from '../../support/wait.ts';
import { pdfOf } from '../web-world.ts';

const MB = 1024 ** 2;
const NEVER = new AbortController().signal;
const OWNER = { role: 'owner', signal: NEVER } as const;
const GUEST = { role: 'guest', signal: NEVER } as const;
const TASK = { mostChars: 100_000 };
const PAGE = { offset: 1, column: 1, limit: 1, pageChars: 13 * MB };
const LONG = pdfOf(Array.from({ length: 1_000 }, (_, n) => `page ${n}`));

const inMemory = (bytes: Buffer) => ({ bytes: new Uint8Array(bytes) });
const readers = (): readonly ChildProcess[] => childrenNamed('document-child');
const reader = (): Promise<ChildProcess> => waitFor(() => readers()[0], { what: 'a child process' });

type Reader = Parameters<typeof createReader>;
const documents = (limits: Reader[1] = { ownBytes: () => 100 * MB }, more: Partial<Reader[0]> = {}): ReadDocument =>
  documentReader(createReader({ clock: systemClock, ...more }, limits));

/** What a program says that tries what a reader that was taken over would try. */
async function confined(limits: Reader[1] = {}, more: Partial<Reader[0]> = {}) {
  return await createReader(
    { clock: systemClock, ...more },
    limits,
  )({
    program: new URL('./confined-child.ts', import.meta.url),
    task: null,
    source: inMemory(Buffer.alloc(0)),
    facts: z.object({ tried: z.int(), done: z.array(z.string()) }),
    noun: 'document',
    baseMs: 10_000,
    ...OWNER,
  });
}

describe('the child process that reads a document', () => {
  test('has no environment, no folder of ours, and limits that the kernel holds', async () => {
    const read = documents();
    const reading = read(TASK, inMemory(LONG), OWNER);
    const child = await reader();
    expect(child).toMatchObject({
      environment: expect.stringMatching(/^(?:(?:PWD|SHLVL|_)=[^\0]*\0)*$/u),
      folder: '/',
    });
    expect(child.limits).toMatchObject({
      'core file size': '0',
      'cpu time': String(Math.ceil(((10_000 + (LONG.length / MB) * 1_000) * 2) / 1_000) + 5),
      'data size': String((512 + 300 - 100 - 16) * MB),
    });
    expect((await reading).text).toContain('page 999');
    expect(readers()).toEqual([]);
  });

  test('has less memory where a guest asked', async () => {
    const read = documents();
    const reading = read(TASK, inMemory(LONG), GUEST);
    const { limits } = await reader();
    await reading;
    expect(limits['data size']).toBe(String((512 + 150 - 16) * MB));
  });

  test('is ended as soon as it holds more memory than it may at that moment', async () => {
    let asked = 0;
    // The first answer is for the limits that the kernel holds.
    const ownBytes = (): number => (asked++ === 0 ? 100 * MB : 299 * MB);
    const large = inMemory(Buffer.alloc(50 * MB, 'word\n'));
    await expect(documents({ ownBytes })({ wish: PAGE }, large, OWNER)).rejects.toThrow('needs more than 300 MB');
  });

  test('can open no file, start no process and no thread, in a sandbox and without one', async () => {
    await using world = await sandboxWorld();
    for (const sandbox of [null, world.sandbox])
      expect(await confined({}, { sandbox })).toEqual({ tried: 5, done: [], text: '' });
  });

  testWith('bubblewrap')('reads in the sandbox a file that it is handed, and one that is sent', async () => {
    await using world = await sandboxWorld();
    const read = documents(undefined, world);
    const path = join(world.home, 'a.pdf');
    await writeFile(path, LONG);
    const handle = await open(path);
    const sources = [inMemory(LONG), { descriptor: handle.fd, size: LONG.length }];
    for (const source of sources) expect((await read(TASK, source, OWNER)).text).toContain('page 999');
    await handle.close();
  });

  test('is gone, with all it holds, when the turn that wanted the document is stopped', async () => {
    const stop = new AbortController();
    const read = documents();
    const reading = read(TASK, inMemory(LONG), { role: 'owner', signal: stop.signal });
    const { pid } = await reader();
    stop.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
    expect(childIds()).not.toContain(pid);
  });

  test('that takes too long is ended, and the sentence says so', async () => {
    const read = documents({ timeoutMs: 5 });
    await expect(read(TASK, inMemory(LONG), OWNER)).rejects.toThrow(
      'The document could not be read in 0.005 s, so reading it was stopped.',
    );
    expect(readers()).toEqual([]);
  });

  test('that says more than a document may hold is ended', async () => {
    const long = inMemory(Buffer.alloc(13 * MB, 'word '));
    await expect(documents()({ wish: PAGE }, long, OWNER)).rejects.toThrow('there is too much text in it');
  });

  test('reads the file that was opened and judged, whatever lies under its name by then', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'a.pdf');
    await writeFile(path, pdfOf(['the first']));
    const handle = await open(path);
    const { size } = await handle.stat();
    await writeFile(join(folder.path, 'b.pdf'), pdfOf(['another']));
    await rename(join(folder.path, 'b.pdf'), path);
    const read = documents();
    const { text } = await read(TASK, { descriptor: handle.fd, size }, OWNER);
    await handle.close();
    expect(text).toContain('the first');
  });
});

describe('of several documents', () => {
  test('one is read at a time, and of those that wait one at most is of a guest', async () => {
    const read = documents();
    const done: string[] = [];
    let most = 0;
    const looking = setInterval(() => (most = Math.max(most, readers().length)), 5);
    const start = async (name: string, who: typeof OWNER | typeof GUEST): Promise<void> => {
      await read(TASK, inMemory(pdfOf([name])), who);
      done.push(name);
    };
    const guests = [1, 2, 3].map((n) => start(`guest ${n}`, GUEST));
    // The first of them has begun by then.
    await setImmediate();
    await Promise.all([...guests, start('owner', OWNER)]);
    clearInterval(looking);
    expect(most).toBe(1);
    expect(done).toEqual(['guest 1', 'owner', 'guest 2', 'guest 3']);
  });
});

test('a child that breaks is a sentence for the model, without a stack', async () => {
  await using files = await fileTools();
  await files.put('a.pdf', '%PDF-1.7\n1 0 obj\n<<');
  const { isError, output } = await files.call('read_file', { path: 'a.pdf' });
  expect([isError, output]).toEqual([true, 'This PDF could not be read: it is broken or was cut off.']);
});
