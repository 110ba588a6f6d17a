import * as z from 'zod';
import type { Role } from '../../bus/messages.ts';
import { runOwnProgram } from '../../security/enclosure/own-program.ts';
import type { Sandbox } from '../../security/enclosure/sandbox.ts';
import { deadline, type Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import {
  DOCUMENT_ANSWERS,
  type ChildTask,
  type DocumentAnswers,
  type DocumentKind,
  type DocumentTasks,
} from './document-task.ts';

/** Where the bytes of a document are: in a file that was opened and judged, or in memory. */
export type DocumentSource = { readonly descriptor: number; readonly size: number } | { readonly bytes: Uint8Array };

interface ReadingOptions {
  /** For whom: guests get less memory, and one of them at a time. */
  readonly role: Role;
  readonly signal: AbortSignal;
}

/**
 * Makes text of a document in a child process. Throws a sentence: `document-unreadable`, `document-memory`,
 * `document-late`; or the signal's reason, once the child is gone.
 */
export type ReadDocument = <Kind extends DocumentKind>(
  kind: Kind,
  task: DocumentTasks[Kind],
  source: DocumentSource,
  options: ReadingOptions,
) => Promise<DocumentAnswers[Kind]>;

export interface DocumentReaderOptions {
  /** What the child runs in, where it works. @default nothing but the limits and permissions of the child */
  readonly sandbox?: Pick<Sandbox, 'probe'>;
  readonly clock: Clock;
  /** Of one document. @default by its kind and size, 5 to 30 s */
  readonly timeoutMs?: number;
  /** Bytes that this process holds. @default as the system says it */
  readonly ownBytes?: () => number;
}

const MB = 1024 ** 2;
/** Of this process and the child together; of a guest's child alone. */
const MOST_BYTES = 300 * MB;
const MOST_GUEST_BYTES = 150 * MB;
/** A child has so much in any case, however large this process is: with less not even a letter could be read. */
const LEAST_BYTES = 128 * MB;
/** What a child may take between two looks at it. */
const SLACK_BYTES = 16 * MB;
const MOST_OUTPUT_BYTES = 12 * MB;
const PAGE_MS = 5_000;
const DOCUMENT_MS = 10_000;
const MS_PER_MB = 1_000;
const LONGEST_MS = 30_000;
/** Share of the time limit for reading a document; the rest is for returning what was read. */
const READING_SHARE = 0.7;

/** How long a document may take: more for a larger one. */
export function readingMs(kind: DocumentKind | 'html', bytes: number): number {
  return Math.min(LONGEST_MS, (kind === 'html' ? PAGE_MS : DOCUMENT_MS) + (bytes / MB) * MS_PER_MB);
}

/**
 * Reads one document at a time, so that the limit holds for all together; of those who wait one at most is a guest's,
 * so that no one stands behind a row of them.
 */
export function createDocumentReader({
  sandbox,
  clock,
  timeoutMs,
  ownBytes = ownMemory,
}: DocumentReaderOptions): ReadDocument {
  const all = new Slots(1);
  const guests = new Slots(1);
  return async (kind, task, source, { role, signal }) => {
    const isGuest = role === 'guest';
    using _guest = isGuest ? await guests.hold(signal) : undefined;
    using _one = await all.hold(signal);
    const probe = await sandbox?.probe();
    const size = 'bytes' in source ? source.bytes.length : source.size;
    const limitMs = timeoutMs ?? readingMs('kind' in task && task.kind === 'html' ? 'html' : kind, size);
    using limit = deadline(clock, limitMs, 'reading a document');
    const isFile = 'descriptor' in source;
    const head: ChildTask = { kind, task, bytes: size, isFile };
    const noun = kind === 'page' ? 'page' : 'document';
    const most = isGuest ? MOST_GUEST_BYTES : MOST_BYTES;
    try {
      const ended = await runOwnProgram({
        engine: probe?.available === true ? probe.engine : null,
        file: new URL('./document-child.ts', import.meta.url),
        input: [Buffer.from(`${JSON.stringify(head)}\n`), ...(isFile ? [] : [source.bytes])],
        descriptor: isFile ? source.descriptor : undefined,
        limits: {
          memoryBytes: () => Math.min(most, Math.max(LEAST_BYTES, MOST_BYTES - ownBytes())) - SLACK_BYTES,
          cpuSeconds: Math.ceil((limitMs * 2) / 1_000) + 5,
        },
        outputBytes: MOST_OUTPUT_BYTES,
        signal: AbortSignal.any([signal, limit.signal]),
        clock,
      });
      if (ended.end === 'answer') return answerOf(kind, ended.output);
      if (ended.end === 'failed') throw new AppError('document-unreadable', `It could not be read: ${ended.reason}.`);
      throw new AppError(
        'document-memory',
        `The ${noun} needs more than ${most / MB} MB of memory to read, so reading it was stopped. It may be made to overload programs that open it; ask for a smaller or simpler copy.`,
      );
    } catch (error) {
      if (signal.aborted || !limit.signal.aborted) throw error;
      throw new AppError(
        'document-late',
        `The ${noun} could not be read in ${Number((limitMs / 1_000).toPrecision(2))} s, so reading it was stopped. It is too complicated; ask for a smaller or simpler copy.`,
      );
    }
  };
}

/** Of the time for a document, how much is for reading; what is read by then is the answer. */
export function readingBudgetMs(kind: DocumentKind, bytes: number): number {
  return readingMs(kind, bytes) * READING_SHARE;
}

function ownMemory(): number {
  return process.memoryUsage.rss();
}

const HEAD = z.union([z.object({ error: z.string() }), z.object({ facts: z.record(z.string(), z.unknown()) })]);
const PARSE: { readonly [Kind in DocumentKind]: (answer: unknown) => DocumentAnswers[Kind] } = {
  pdf: (answer) => DOCUMENT_ANSWERS.pdf.parse(answer),
  office: (answer) => DOCUMENT_ANSWERS.office.parse(answer),
  lines: (answer) => DOCUMENT_ANSWERS.lines.parse(answer),
  page: (answer) => DOCUMENT_ANSWERS.page.parse(answer),
};

/** One line of facts, then the text as it is. */
function answerOf<Kind extends DocumentKind>(kind: Kind, output: Buffer): DocumentAnswers[Kind] {
  const end = output.indexOf('\n');
  const head = HEAD.parse(JSON.parse(output.toString('utf8', 0, end)));
  if ('error' in head) throw new AppError('document-unreadable', head.error);
  return PARSE[kind]({ ...head.facts, text: output.toString('utf8', end + 1) });
}
