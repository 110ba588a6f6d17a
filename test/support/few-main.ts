import { main } from '../../src/cli/run.ts';
import { programOf } from '../../src/core/program.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';

// The program with only the extensions that are named, by default none.
const names = process.env['EXTENSIONS']?.split(',') ?? [];
void main(programOf(EXTENSIONS.filter(({ name }) => names.includes(name))));
