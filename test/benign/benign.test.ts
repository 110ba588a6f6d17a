import '../support/internet-mock.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../support/test-with.ts';
import { DATA_TASKS } from './data-tasks.ts';
import { has, openHomeWithFiles, type HomeWithFiles } from './home-with-files.ts';
import { FILE_TASKS } from './file-tasks.ts';
import { GIT_TASKS } from './git-tasks.ts';
import { MCP_TASKS } from './mcp-tasks.ts';
import { MEMORY_TASKS } from './memory-tasks.ts';
import { PAGES, WEB_TASKS } from './web-tasks.ts';

const TASKS = [...FILE_TASKS, ...DATA_TASKS, ...GIT_TASKS, ...WEB_TASKS, ...MEMORY_TASKS, ...MCP_TASKS];

describeWith('bubblewrap')('with commands in the sandbox, an assistant can', () => {
  const asked = new Map<string, number>();
  let home: HomeWithFiles;
  beforeAll(async () => {
    home = await openHomeWithFiles(PAGES);
  });
  afterAll(() => home[Symbol.asyncDispose]());

  for (const task of TASKS) {
    const absent = task.needs?.find((program) => !has(program));
    const title = absent === undefined ? task.name : `${task.name} (${absent} is not installed)`;
    test.skipIf(absent !== undefined)(title, async () => {
      const { questions } = await home.run(task);
      asked.set(task.name, questions);
      expect(questions).toBe(task.asks ?? 0);
    });
  }

  test('do most of that without a question, and hardly anything with more than one', () => {
    const counts = [...asked.values()].toSorted((a, b) => a - b);
    const numbers = [...new Set(counts)].map((n) => `${n}: ${counts.filter((count) => count === n).length}`);
    process.stdout.write(`questions in ${counts.length} everyday tasks: ${numbers.join(', ')}\n`);
    expect(TASKS.length).toBeGreaterThanOrEqual(40);
    expect(counts[Math.floor(counts.length / 2)]).toBe(0);
    expect(counts.filter((count) => count > 1).length / counts.length).toBeLessThanOrEqual(0.1);
  });
});
