import { readFileSync, readSync, writeSync } from 'node:fs';
import { errorMessage } from '../../util/errors.ts';
import type { ChildTask } from './reader.ts';

const INPUT = 0;
const OUTPUT = 1;
const FILE = 4;
/** As in reader.ts. */
const MEMORY_EXIT_CODE = 77;

/** How much is read of a document; readers ask whenever they have read a little. */
export interface Bounds {
  readonly mostChars: number;
  /** False ends the reading with what there is. */
  readonly hasTime: () => boolean;
}

/**
 * What the program of a child process of `createReader` does: makes text of the bytes that it is given, writes one line of facts
 * and then the text to its standard output, and ends.
 */
export async function answerWith(
  read: (task: never, bytes: Uint8Array, hasTime: Bounds['hasTime']) => Promise<{ readonly text: string }>,
): Promise<never> {
  try {
    const input = readFileSync(INPUT);
    const head = input.indexOf('\n');
    // It was written by `createReader`, in the process that started this one.
    const { task, fileSize, budgetMs } = JSON.parse(input.toString('utf8', 0, head)) as ChildTask;
    const bytes = fileSize === null ? input.subarray(head + 1) : fileOf(fileSize);
    const { text, ...facts } = await read(task as never, bytes, () => performance.now() < budgetMs);
    write({ facts }, text);
  } catch (error) {
    if (isOutOfMemory(error)) process.exit(MEMORY_EXIT_CODE);
    write({ error: errorMessage(error) });
  }
  process.exit(0);
}

/** The whole file. What it has grown by meanwhile is left out. */
function fileOf(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let filled = 0;
  for (let read = -1; read !== 0 && filled < size; filled += read)
    read = readSync(FILE, bytes, filled, size - filled, filled);
  return bytes.subarray(0, filled);
}

function write(head: unknown, text = ''): void {
  const bytes = Buffer.from(`${JSON.stringify(head)}\n${text}`);
  for (let at = 0; at < bytes.length;) at += writeSync(OUTPUT, bytes, at);
}

/** What V8 says of an allocation that the system refused, or that would never fit; parsers pass it on in errors of their own. */
const REFUSED =
  /buffer allocation failed|failed to allocate memory|Invalid (?:array|string|typed array) length|out of memory/iu;

/** V8 ends the process itself where it cannot throw. */
function isOutOfMemory(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if (REFUSED.test(at.message)) return true;
  }
  return false;
}
