import { main } from '../../src/cli/run.ts';
import { programOf } from '../../src/core/program.ts';

// The program with nothing that could be absent.
void main(programOf([]));
