import { describeChannel } from './suite.ts';
import { terminalBench } from './terminal-bench.ts';

describeChannel(terminalBench);
