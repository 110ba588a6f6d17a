/** For programs of child processes that read strangers' bytes; loads next to nothing. */
export { answerWith } from './tools/reading/child.ts';
export type { Bounds } from './tools/reading/child.ts';
export { pdfText } from './tools/reading/pdf-text.ts';
export type { DocumentText } from './tools/reading/pdf-text.ts';
export { encodingsOf } from './files/text.ts';
export { AppError, errorMessage } from './util/errors.ts';
export { cut } from './util/text.ts';
export { withoutInvisible } from './security/text/invisible.ts';
