/** For rows of the command line that are operations: an extension's own, with its types. */
export { asking as askingRow } from './cli/asking.ts';
