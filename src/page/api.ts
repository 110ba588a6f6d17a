/** What panels of extensions are written with: the only file of the page that they import. */
export { operation, sentenceOf } from './net/http.ts';
export { Action } from './parts/action.tsx';
export { useLoaded } from './parts/loaded.tsx';
export { Empty, Loading, Problem } from './parts/states.tsx';
export { minute, Time } from './parts/time.tsx';
export { changes } from './state/app.ts';
export { shown } from './text/shown.ts';
export type { AnswerOf } from '../core/gateway/operations/operation.ts';
export type { RequestParams } from '../core/gateway/operations/operations.ts';
