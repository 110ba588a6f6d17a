import { feishuBench } from './feishu-bench.ts';
import { describeChannel } from './suite.ts';

describeChannel(feishuBench);
