import { answerWith } from '../../core/api-child.ts';
import { readPage, type PageTask } from './page.ts';

/** The program of the child process that reads a page. */
await answerWith((task: PageTask, bytes, hasTime) => readPage(bytes, task, hasTime));
