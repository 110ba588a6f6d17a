import { main } from './cli/run.ts';

// Started by launcher.cjs, which has checked the version of Node and switched the compile cache on.
void main();
