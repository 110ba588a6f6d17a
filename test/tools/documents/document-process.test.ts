import { open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  createDocumentReader,
  readingMs,
  type DocumentSource,
} from '../../../src/core/tools/documents/document-reader.ts';
import { runOwnProgram, type OwnProgram } from '../../../src/core/security/enclosure/own-program.ts';
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
const TASK = { mostChars: 100_000, budgetMs: 10_000 };
const LONG = pdfOf(Array.from({ length: 1_000 }, (_, n) => `page ${n}`));

const inMemory = (bytes: Buffer): DocumentSource => ({ bytes: new Uint8Array(bytes) });
const readers = (): readonly ChildProcess[] => childrenNamed('document-child');
const reader = (): Promise<ChildProcess> => waitFor(() => readers()[0], { what: 'a child process' });

function program(file: URL, given: Partial<OwnProgram> = {}): OwnProgram {
  const limits = { memoryBytes: () => 184 * MB, cpuSeconds: 20 };
  return { engine: null, file, input: [], limits, outputBytes: MB, signal: NEVER, clock: systemClock, ...given };
}

describe('the child process that reads a document', () => {
  test('has no environment, a group of its own, no folder of ours, and limits that the kernel holds', async () => {
    const read = createDocumentReader({ clock: systemClock, ownBytes: () => 100 * MB });
    const reading = read('pdf', TASK, inMemory(LONG), OWNER);
    const child = await reader();
    expect(child).toMatchObject({ environment: '', folder: '/', group: child.pid });
    expect(child.limits).toMatchObject({
      'core file size': '0',
      'cpu time': String(Math.ceil((readingMs('pdf', LONG.length) * 2) / 1_000) + 5),
      'data size': String((512 + 300 - 100 - 16) * MB),
    });
    expect((await reading).text).toContain('page 999');
    expect(readers()).toEqual([]);
  });

  test('has less memory where a guest asked', async () => {
    const read = createDocumentReader({ clock: systemClock, ownBytes: () => 100 * MB });
    const reading = read('pdf', TASK, inMemory(LONG), GUEST);
    const { limits } = await reader();
    await reading;
    expect(limits['data size']).toBe(String((512 + 150 - 16) * MB));
  });

  test('is ended as soon as it holds more memory than it may at that moment', async () => {
    let asked = 0;
    // The first answer is for the limits that the kernel holds.
    const limits = { memoryBytes: () => (asked++ === 0 ? 184 * MB : MB) };
    const ended = await runOwnProgram(program(new URL('./confined-child.ts', import.meta.url), { limits }));
    expect(ended).toEqual({ end: 'memory' });
  });

  test('can open no file, start no process and no thread, in a sandbox and without one', async () => {
    await using world = await sandboxWorld();
    const probe = await world.sandbox.probe();
    for (const engine of [null, ...(probe.available ? [probe.engine] : [])]) {
      const ended = await runOwnProgram(program(new URL('./confined-child.ts', import.meta.url), { engine }));
      expect(ended.end === 'answer' && JSON.parse(ended.output.toString())).toEqual({ tried: 5, done: [] });
    }
  });

  testWith('bubblewrap')('reads in the sandbox a file that it is handed, and one that is sent', async () => {
    await using world = await sandboxWorld();
    const read = createDocumentReader({ clock: systemClock, sandbox: world.sandbox });
    const path = join(world.home, 'a.pdf');
    await writeFile(path, LONG);
    const handle = await open(path);
    const sources = [inMemory(LONG), { descriptor: handle.fd, size: LONG.length }];
    for (const source of sources) expect((await read('pdf', TASK, source, OWNER)).text).toContain('page 999');
    await handle.close();
  });

  test('is gone, with all it holds, when the turn that wanted the document is stopped', async () => {
    const stop = new AbortController();
    const read = createDocumentReader({ clock: systemClock });
    const reading = read('pdf', TASK, inMemory(LONG), { role: 'owner', signal: stop.signal });
    const { pid } = await reader();
    stop.abort(new Error('stopped'));
    await expect(reading).rejects.toThrow('stopped');
    expect(childIds()).not.toContain(pid);
  });

  test('that takes too long is ended, and the sentence says so', async () => {
    const read = createDocumentReader({ clock: systemClock, timeoutMs: 5 });
    await expect(read('pdf', TASK, inMemory(LONG), OWNER)).rejects.toThrow(
      'The document could not be read in 0.005 s, so reading it was stopped.',
    );
    expect(readers()).toEqual([]);
  });

  test('has more time for a larger document, but never more than 30 s', () => {
    expect([readingMs('html', 0), readingMs('pdf', 0), readingMs('pdf', 10 * MB), readingMs('pdf', 900 * MB)]).toEqual([
      5_000, 10_000, 20_000, 30_000,
    ]);
  });

  test('that says more than a document may hold is ended', async () => {
    const ended = await runOwnProgram(program(new URL('./confined-child.ts', import.meta.url), { outputBytes: 10 }));
    expect(ended).toEqual({ end: 'failed', reason: 'there is too much text in it' });
  });

  test('reads the file that was opened and judged, whatever lies under its name by then', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'a.pdf');
    await writeFile(path, pdfOf(['the first']));
    const handle = await open(path);
    const { size } = await handle.stat();
    await writeFile(join(folder.path, 'b.pdf'), pdfOf(['another']));
    await rename(join(folder.path, 'b.pdf'), path);
    const read = createDocumentReader({ clock: systemClock });
    const { text } = await read('pdf', TASK, { descriptor: handle.fd, size }, OWNER);
    await handle.close();
    expect(text).toContain('the first');
  });
});

describe('of several documents', () => {
  test('one is read at a time, and of those that wait one at most is of a guest', async () => {
    const read = createDocumentReader({ clock: systemClock });
    const done: string[] = [];
    let most = 0;
    const looking = setInterval(() => (most = Math.max(most, readers().length)), 5);
    const start = async (name: string, who: typeof OWNER | typeof GUEST): Promise<void> => {
      await read('pdf', TASK, inMemory(pdfOf([name])), who);
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
