import { contributionsOf } from '../../src/core/plugins/contributions.ts';
import { programOf } from '../../src/core/program.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';
import { commandsOf } from '../../src/cli/table/table.ts';
import { OperationTable } from '../../src/core/gateway/operations/call.ts';
import { OPERATIONS } from '../../src/core/gateway/operations/operations.ts';

/** The whole program. */
export const PROGRAM = programOf(EXTENSIONS);

/** Every command of the terminal. */
export const COMMANDS = commandsOf(PROGRAM);

/** Every operation. */
export const allOperations = (): OperationTable => new OperationTable([...OPERATIONS, ...PROGRAM.operations]);

/** The tables of all extensions. */
export const TABLES = PROGRAM.tables;

/** How messages are treated by their origin. */
export const ORIGINS = PROGRAM.origins;

/** Places of all extensions in the workspace. */
export const PATHS = PROGRAM.paths;

/** Kinds of channels of all extensions. */
export const KINDS = contributionsOf(EXTENSIONS, { presets: PROGRAM.presets, peopleOf: () => undefined }).kinds;
