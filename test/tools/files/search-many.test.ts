import { testManyFiles } from './many-files.ts';

testManyFiles(20);
