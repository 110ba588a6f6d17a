import { discordBench } from './discord-bench.ts';
import { describeChannel } from './suite.ts';

describeChannel(discordBench);
