import { createHash } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { errorMessage } from '../../util/errors.ts';
import type { ChildTask, DocumentAnswers, DocumentTasks } from './document-task.ts';

/**
 * The program of the child process that `createDocumentReader` starts. Reads its task and one document, writes one line of
 * facts and then the text to its standard output, and ends. What reads a kind is loaded for that kind alone.
 */

const INPUT = 0;
const OUTPUT = 1;
const FILE = 4;
const PIECE = 1024 ** 2;
/** `MEMORY_EXIT_CODE` of own-program.ts, which loads what is not needed here. */
const MEMORY_EXIT_CODE = 77;

/** The first line of the input as the task, and what came after it in the same piece. */
function readTask(): { readonly given: ChildTask; readonly rest: Uint8Array } {
  let piece = Buffer.alloc(0);
  for (;;) {
    const more = Buffer.alloc(64 * 1024);
    const read = readSync(INPUT, more);
    piece = Buffer.concat([piece, more.subarray(0, read)]);
    const end = piece.indexOf('\n');
    // It was written by `createDocumentReader`, in the process that started this one.
    if (end >= 0)
      return { given: JSON.parse(piece.toString('utf8', 0, end)) as ChildTask, rest: piece.subarray(end + 1) };
    if (read === 0) throw new Error('there is no task');
  }
}

const { given, rest } = readTask();

/** SHA-256 in hex; null for nothing but white space. */
class DocumentHash {
  readonly #hash = createHash('sha256');
  #isBlank = true;

  add(bytes: Uint8Array): this {
    this.#hash.update(bytes);
    this.#isBlank &&= bytes.every((byte) => byte <= 0x20);
    return this;
  }

  end(): string | null {
    return this.#isBlank ? null : this.#hash.digest('hex');
  }
}

/** The whole document. What a file has grown by meanwhile is left out. */
function wholeDocument(): Uint8Array {
  const bytes = new Uint8Array(given.bytes);
  bytes.set(rest.subarray(0, bytes.length));
  let size = rest.length;
  while (size < bytes.length) {
    const [descriptor, position] = given.isFile ? [FILE, size] : [INPUT, null];
    const read = readSync(descriptor, bytes, size, bytes.length - size, position);
    if (read === 0) break;
    size += read;
  }
  return bytes.subarray(0, size);
}

/** Of what `pieces` went through last, to its end. */
let piecesHash: string | null | undefined;

/** The file again and again in pieces; each is overwritten by the next. What is hashed is what was read. */
function* pieces(): Generator<Uint8Array> {
  const into = new Uint8Array(PIECE);
  const hash = new DocumentHash();
  for (let at = 0; at < given.bytes;) {
    const read = readSync(FILE, into, 0, Math.min(PIECE, given.bytes - at), at);
    if (read === 0) break;
    at += read;
    hash.add(into.subarray(0, read));
    yield into.subarray(0, read);
  }
  piecesHash = hash.end();
}

type Read = { readonly [Kind in keyof DocumentTasks]: (task: DocumentTasks[Kind]) => Promise<DocumentAnswers[Kind]> };

const READ: Read = {
  pdf: async (task) => {
    const bytes = wholeDocument();
    const hash = new DocumentHash().add(bytes).end();
    const { pdfText } = await import('./pdf-text.ts');
    return { ...(await pdfText(bytes, task)), hash };
  },
  office: async (task) => {
    const bytes = wholeDocument();
    const hash = new DocumentHash().add(bytes).end();
    const { officeText } = await import('./office-text.ts');
    return { ...(await officeText(bytes, task)), hash };
  },
  lines: async (wish) => {
    const { largeText } = await import('./large-text.ts');
    const page = largeText(pieces, given.bytes, wish);
    // Of what is binary only the beginning was read.
    if (page.encoding === null) for (const _ of pieces());
    return { ...page, hash: piecesHash ?? null };
  },
  page: async (task) => {
    const { readPage } = await import('../web/read-page.ts');
    return await readPage(wholeDocument(), task);
  },
};

/** What V8 says of an allocation that the system refused, or that would never fit; parsers pass it on in errors of their own. */
const REFUSED = /buffer allocation failed|Invalid (?:array|string|typed array) length|out of memory/iu;

/** V8 ends the process itself where it cannot throw. */
function isOutOfMemory(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if (REFUSED.test(at.message)) return true;
  }
  return false;
}

function write(head: unknown, text = ''): void {
  const bytes = Buffer.from(`${JSON.stringify(head)}\n${text}`);
  for (let at = 0; at < bytes.length;) at += writeSync(OUTPUT, bytes, at);
}

async function answer(): Promise<void> {
  const read: (task: never) => Promise<DocumentAnswers[keyof DocumentTasks]> = READ[given.kind];
  const found = await read(given.task as never);
  const { text, ...facts } = found;
  write({ facts }, text);
}

try {
  await answer();
  process.exit(0);
} catch (error) {
  if (isOutOfMemory(error)) process.exit(MEMORY_EXIT_CODE);
  write({ error: errorMessage(error) });
  process.exit(0);
}
