import { deadline, type Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import { inThread } from '../thread.ts';
import type { DocumentAnswer, DocumentTask } from './document-task.ts';

/** Reads a document in a thread of its own. Takes the bytes with it: they are empty afterwards. Throws a sentence. */
export type ReadDocument = <Task extends DocumentTask>(
  task: Task,
  signal: AbortSignal,
) => Promise<DocumentAnswer<Task>>;

const MOST_THREADS = 2;
/** For one document, more than any budget. */
export const DOCUMENT_MS = 20_000;
const LIMITS = { maxOldGenerationSizeMb: 320, maxYoungGenerationSizeMb: 32, stackSizeMb: 2 };

/** At most two at once. What a document does to its reader (endless loops, all memory) ends with the thread. */
export function createDocumentReader({
  clock,
  timeoutMs = DOCUMENT_MS,
}: {
  clock: Clock;
  timeoutMs?: number;
}): ReadDocument {
  const slots = new Slots(MOST_THREADS);
  return (task, signal) =>
    slots.run(async () => {
      using limit = deadline(clock, timeoutMs, 'reading a document');
      try {
        return await inThread({
          file: new URL('./document-worker.ts', import.meta.url),
          data: task,
          limits: LIMITS,
          signal: AbortSignal.any([signal, limit.signal]),
          transfer: ownBuffer(task.bytes),
        });
      } catch (error) {
        const isTooMuch = limit.signal.aborted || errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY';
        if (signal.aborted || !isTooMuch) throw error;
        throw new AppError(
          'document-late',
          `It could not be read in ${timeoutMs / 1000} s, or takes too much memory; it is too complicated.`,
        );
      }
    }, signal);
}

/** Small buffers lie in one that others use too. */
function ownBuffer({ buffer, byteLength }: Uint8Array): readonly ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}
