/** For files that outlive a crash, and files that people change. */
export { ensureDirectory, ifThere, quarantine, readIfExists, replaceDurable, syncDirectory } from './storage/files.ts';
export { fileStampOf, watchFile } from './storage/watched-file.ts';
export type { ReplaceOptions } from './storage/files.ts';
