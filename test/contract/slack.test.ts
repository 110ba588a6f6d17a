import { slackBench } from './slack-bench.ts';
import { describeChannel } from './suite.ts';

describeChannel(slackBench);
