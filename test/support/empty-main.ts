import { main } from '../../src/cli/run.ts';
import { programOf } from '../../src/core/program.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';

// The program with nothing that could be absent but a vendor of models.
void main(programOf(EXTENSIONS.filter(({ name }) => name === 'openai')));
