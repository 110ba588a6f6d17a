import { createHash } from 'node:crypto';
import { answerWith, pdfText } from '../../../core/api-child.ts';
import type { DocumentTask } from './document-reader.ts';
import { largePage } from './line-page.ts';
import { officeText } from './office-text.ts';

/** The program of the child process that reads a document. */
await answerWith(async (task: DocumentTask, bytes, hasTime) => {
  const isBlank = bytes.every((byte) => byte <= 0x20);
  const hash = isBlank ? null : createHash('sha256').update(bytes).digest('hex');
  if ('wish' in task) return { ...largePage(bytes, task.wish), hash };
  const bounds = { mostChars: task.mostChars, hasTime };
  const isPdf = Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-';
  const found = isPdf ? { ...(await pdfText(bytes, bounds)), format: 'pdf' } : officeText(bytes, bounds);
  return { ...found, hash };
});
