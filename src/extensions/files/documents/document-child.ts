import { answerWith, pdfText } from '../../../core/api-child.ts';
import type { DocumentTask } from './document-reader.ts';
import { largePage } from './line-page.ts';
import { officeText } from './office-text.ts';

/** The program of the child process that reads a document. */
await answerWith(async (task: DocumentTask, bytes, hasTime) => {
  if ('wish' in task) return largePage(bytes, task.wish);
  const bounds = { mostChars: task.mostChars, hasTime };
  const isPdf = Buffer.from(bytes.subarray(0, 5)).toString('latin1') === '%PDF-';
  return isPdf ? { ...(await pdfText(bytes, bounds)), format: 'pdf' } : officeText(bytes, bounds);
});
