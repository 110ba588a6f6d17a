import { readdir } from 'node:fs/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const STEPS = 5;
const CALLS_PER_STEP = 40;
const CONTENT = 'Five kilobytes of a report. '.repeat(180);
/** How the arguments of a call begin, alone and not within a request or a line of the tape. */
const ARGUMENTS = /^\{"path":"report-(\d+)\.txt"/u;

/** How often the arguments of each call are read from now on, by the number of the call. */
function countReadings(): ReadonlyMap<number, number> {
  const readings = new Map<number, number>();
  const parse = JSON.parse;
  const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
    const number = ARGUMENTS.exec(text)?.[1];
    if (number !== undefined) readings.set(Number(number), (readings.get(Number(number)) ?? 0) + 1);
    return parse(text, reviver);
  });
  onTestFinished(() => spy.mockRestore());
  return readings;
}

test('a turn of hundreds of large calls reads each call’s arguments a few times, not once for each later call', async () => {
  await using world = await startWorld({
    config: { agent: { maxIterations: 100 }, models: { 'openai/scripted-model': { contextWindow: 20_000_000 } } },
  });
  world.model.setHandler(({ index }) =>
    index === STEPS
      ? 'All written.'
      : {
          calls: Array.from({ length: CALLS_PER_STEP }, (_, n) => ({
            name: 'write_file',
            arguments: { path: `report-${index * CALLS_PER_STEP + n}.txt`, content: CONTENT },
          })),
          chunkSize: 30_000,
        },
  );
  const readings = countReadings();
  world.telegram.userSays(OWNER, 'write all the reports');
  await waitFor(() => chatOf(world).includes('All written.'), { timeoutMs: 150_000, what: 'the answer' });
  const written = (await readdir(world.workspace)).filter((name) => name.startsWith('report-'));
  expect(written).toHaveLength(STEPS * CALLS_PER_STEP);
  expect(readings.size).toBe(STEPS * CALLS_PER_STEP);
  // A request reads what it sends, here and at the server; beside that a call is read when it runs and when it is compared.
  expect(Math.max(...readings.values())).toBeLessThanOrEqual(3 * (STEPS + 1));
}, 180_000);
