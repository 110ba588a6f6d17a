/** For what opens files itself, also in a thread of its own: places that were opened before they were judged, and what is in them. */
export { openEntry } from './security/paths/open-inside.ts';
export type { Inside, PathGuard, PathRules } from './security/paths/open-inside.ts';
export { pin, refused, SYNC_CALLS } from './security/paths/pinned.ts';
export type { Pinned } from './security/paths/pinned.ts';
export { decidePath, within } from './security/paths/rules.ts';
export { decodeText, encodeText, imageType, MOST_IMAGE_BYTES } from './files/text.ts';
export type { TextFormat } from './files/text.ts';
export { harmless } from './security/text/untrusted.ts';
export { systemClock } from './util/clock.ts';
export { AppError, errorMessage } from './util/errors.ts';
export { CONTROLS, looksBinary } from './util/file-ending.ts';
export { cut, cutStart, oneLine, plural } from './util/text.ts';
export { runnableFile } from './util/runnable-file.ts';
