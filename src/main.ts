import { main } from './cli/run.ts';
import { programOf } from './core/program.ts';
import { EXTENSIONS } from './extensions/index.ts';

// Started by launcher.cjs, which has checked the version of Node and switched the compile cache on.
void main(programOf(EXTENSIONS));
