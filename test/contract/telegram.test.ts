import { describeChannel } from './suite.ts';
import { telegramBench } from './telegram-bench.ts';

describeChannel(telegramBench);
