import { expect, test } from 'vitest';
import { figuresOf, homeOutage, type Outage, type OutagePlan, type OutageReport } from './home-outage.ts';
import { inShort, WEATHERED } from './home-storm.ts';
import { postgresPrograms } from './postgres.ts';
import { describeWith } from './test-with.ts';

const AWAY = /takes no writes \(/u;
const MACHINE_AWAY = /The database of the setting store does not answer: /u;
const WAITS = /PostgreSQL cannot be reached: .+ This one waits/u;
const MOST_MB = 40;
/** A gateway asks every 3 s at most whether the database is back, and then goes on. */
const FIRST_SIGN_MS = 8_000;

/** A gateway for each home and one that waits for it, and two machines that share the homes of all platforms. */
export const LAYOUTS = {
  'two gateways of one home': { homes: { slack: 1 }, gateways: 'pairs' },
  'two gateways of each home': { homes: { telegram: 1, discord: 1, slack: 1 }, gateways: 'pairs' },
  'two machines of four homes': { homes: { telegram: 2, discord: 1, slack: 1 }, gateways: { machines: 2 } },
} as const;

type Plan = Pick<OutagePlan, 'downMs' | 'leaseSeconds' | 'people' | 'everyMs'>;

/** How the gateways of homes live through a database that is away. */
export function homeOutageSuite(plan: Plan, forms: readonly (readonly [Outage, keyof typeof LAYOUTS])[]): void {
  const programs = postgresPrograms();
  describeWith('PostgreSQL')(
    `a database that is away for ${plan.downMs / 1_000} s`,
    { timeout: plan.downMs + 300_000 },
    () => {
      test.each(forms)(
        'and is %s, with %s: nothing is acknowledged or begun meanwhile, all is answered once after, and the owner is told once',
        async (outage, layout) => {
          const report = await homeOutage({ ...plan, ...LAYOUTS[layout], programs: programs ?? '', outage });
          const storm = inShort(report.storm);
          const said = `${figuresOf(report)}\n${JSON.stringify({ ...report, storm })}`;
          console.log(`${outage}, ${layout}: ${figuresOf(report)}`);
          expect(storm, said).toMatchObject(WEATHERED);
          expect(report.asked, said).toBeGreaterThan(0);
          expect(report.answered, said).toBe(report.asked);
          expect(report.reminders, said).toEqual(report.reminders.map(() => 1));
          expect(report.flapped, said).toEqual([]);
          toldOnce(report, said);
          if (outage === 'cut from some') return;
          // Who takes homes over and answers meanwhile needs more, which is no leak.
          expect(report.grownMb, said).toBeLessThan(MOST_MB);
          expect(report.firstSignMs, said).toBeLessThan(FIRST_SIGN_MS);
          expect(report, said).toMatchObject({ acknowledged: 0, sent: [], begun: [], earlyReminders: 0 });
          eachSaysSo(report, said);
        },
      );
    },
  );
}

/** Each person by one gateway of one home at most; on a platform with two homes of a machine by one of them. */
function toldOnce({ said: all, notices, allClear }: OutageReport, said: string): void {
  const isMachine = all.every(({ waiting }) => waiting === null);
  const person = (text: string): string => (isMachine ? text.replace(/-\d+ /u, ' ') : text).split(':')[0] ?? '';
  const most = isMachine ? all.length : 1;
  for (const told of [notices, allClear]) {
    const people = told.map(person);
    for (const one of people) expect(people.filter((other) => other === one).length, said).toBeLessThanOrEqual(most);
  }
  expect(notices.length, said).toBeGreaterThan(0);
}

function eachSaysSo({ said: all }: OutageReport, said: string): void {
  for (const { ran, warnings, waiting, health } of all) {
    if (!ran) expect(waiting, said).toMatch(WAITS);
    else expect(health.status, said).toBe(503);
    if (ran)
      expect(
        warnings.some((one) => AWAY.test(one) || MACHINE_AWAY.test(one)),
        said,
      ).toBe(true);
  }
}
