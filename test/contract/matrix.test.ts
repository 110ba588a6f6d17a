import { matrixBench } from './matrix-bench.ts';
import { describeChannel } from './suite.ts';

describeChannel(matrixBench);
