import '../support/internet-mock.ts';
import { expect, test } from 'vitest';
import { noBubblewrap } from '../support/sandbox-world.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { has, openHomeWithFiles } from './home-with-files.ts';
import { furnishMonth, tasksOf } from './month-tasks.ts';
import { PAGES } from './web-tasks.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;
/**
 * What was measured when the suite was frozen, 20, and 16 calls that change mail and calendars in conversations that hold the text of
 * others: they asked nothing, so whoever wrote that text could have them carry private things out. May be lowered, never raised.
 */
const MOST_QUESTIONS = 36;
const missing = noBubblewrap ?? (['git', 'npm', 'node'].every(has) ? undefined : 'git, npm or node is not installed');

test.skipIf(missing !== undefined)(
  `a month in one home asks hardly anything${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  { timeout: 600_000 },
  async () => {
    const clock = new SkippingClock();
    await using home = await openHomeWithFiles(PAGES, { clock });
    await furnishMonth(home);
    const days: number[][] = [];
    const asking: string[] = [];
    for (let day = 0; day < DAYS; day += 1) {
      if (day % 3 === 0) await home.newConversation();
      const counts: number[] = [];
      for (const task of tasksOf(day)) {
        const { questions } = await home.continueWith(task);
        counts.push(questions);
        if (questions > 0) asking.push(task.name);
      }
      days.push(counts);
      clock.skip(DAY_MS);
    }
    const perDay = days.map((counts) => counts.reduce((sum, count) => sum + count, 0));
    const all = days.flat().toSorted((a, b) => a - b);
    process.stdout.write(
      `a month: ${all.length} tasks; questions per day: ${perDay.join(' ')}; asked: ${asking.join(', ')}\n`,
    );
    expect(all[Math.floor(all.length / 2)]).toBe(0);
    expect(all[Math.floor(all.length * 0.9)]).toBeLessThanOrEqual(1);
    expect(perDay.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(MOST_QUESTIONS);
  },
);
