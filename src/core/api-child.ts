/** For programs of child processes that read strangers' bytes; loads next to nothing. */
export { answerWith } from './tools/reading/child.ts';
export { pdfText } from './tools/reading/pdf-text.ts';
export { withoutInvisible } from './security/text/invisible.ts';
