/** For rows of the command line, which a start of any command reads. */
export { command as commandRow } from './cli/command.ts';
export {
  argument,
  choice,
  flag as flagOption,
  number as numberOption,
  text as textOption,
  texts as textsOption,
} from './cli/values.ts';
export type { GroupPart } from './extension.ts';
