import { afterAll } from 'vitest';
import { writePage } from '../support/page-package.ts';
import { tempFolder } from '../support/temp.ts';
import { describeChannel } from './suite.ts';
import { tinCanBench } from './tin-can-bench.ts';

const folder = await tempFolder();
await writePage('writing-a-channel.md', folder.path);

describeChannel(tinCanBench(folder.path));

afterAll(() => folder[Symbol.asyncDispose]());
