/** For commands of the terminal: loaded by what a command runs, never by a start of the assistant. */
export { confirm } from './cli/confirm.ts';
export type { CliContext } from './cli/context.ts';
export { terminalText } from './cli/format.ts';
export { pathsOf } from '../cli/open.ts';
export { programVariables } from './cli/program-variables.ts';
export { openProgress } from './cli/progress.ts';
export type { HomeFlag } from './cli/command.ts';
export { usageError } from './cli/usage.ts';
export { draftChange, writeConfig } from './config/change.ts';
export { loadConfig } from './config/load.ts';
export type { LoadedConfig } from './config/load.ts';
export { npmInstall } from '../service/npm.ts';
export type { NpmInstall } from '../service/npm.ts';
export { escapeInvisible } from './cli/format.ts';
export { openAssistant } from '../cli/open.ts';
export { print } from './cli/print.ts';
export type { OutputFlags } from './cli/command.ts';
export { countText, dollars, indented } from './util/text.ts';
