import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../../util/errors.ts';
import { decodeText } from '../file-text.ts';
import type { ThreadMessage } from '../thread.ts';
import type { DocumentTask, Hashed, LargeText } from './document-task.ts';
import { linePage } from './line-page.ts';
import type { DocumentText } from './pdf-text.ts';

/** It was written by `createDocumentReader`, in the same process. */
const task = workerData as DocumentTask;

/** What reads a kind is loaded for that kind alone. */
async function read(): Promise<DocumentText | LargeText> {
  switch (task.kind) {
    case 'pdf':
      return (await import('./pdf-text.ts')).pdfText(task.bytes, task);
    case 'docx':
      return (await import('./docx-text.ts')).docxText(task.bytes, task);
    case 'lines': {
      const decoded = decodeText(task.bytes);
      if ('binary' in decoded) return { page: null, encoding: 'binary' };
      return { page: linePage(decoded.text, task.wish), encoding: decoded.format.encoding };
    }
  }
}

function hashOf(bytes: Uint8Array): string | null {
  const isBlank = bytes.every((byte) => byte <= 0x20);
  return isBlank ? null : createHash('sha256').update(bytes).digest('hex');
}

async function answer(): Promise<ThreadMessage<Hashed<DocumentText | LargeText>>> {
  try {
    const hash = hashOf(task.bytes);
    return { answer: { ...(await read()), hash } };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(await answer());
