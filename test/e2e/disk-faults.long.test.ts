import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seeded } from '../support/crash-process.ts';
import { whyNoDiskLibrary } from '../support/disk-library.ts';
import { startSmallDisk, whyNoSmallDisks } from '../support/small-disk.ts';
import { waitFor } from '../support/wait.ts';

const FAULTS = 30;
const PEOPLE = [42, 43, 44];
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const noSmallDisk = whyNoSmallDisks();
const noSwitch = await whyNoDiskLibrary();

test.each([
  ['full', noSmallDisk, { megabytes: 24 }],
  ['read-only', noSwitch ?? noSmallDisk, 'switched'],
] as const)(
  `a disk that is %s ${FAULTS} times while people write costs no message and doubles none`,
  { timeout: 3_600_000 },
  async (state, missing, disk) => {
    if (missing !== undefined && missing !== null) throw new Error(`this disk can't be made: ${missing}`);
    const random = seeded(seed);
    await using world = await startSmallDisk({ disk, people: PEOPLE });
    world.start();
    await waitFor(async () => (await world.health())?.status === 200, { timeoutMs: 60_000 });
    const texts = (): readonly string[] => world.telegram.sentMessages.map(({ visibleText }) => visibleText);
    const asked: string[] = [];
    const ask = (): void => {
      const name = `m${asked.length}`;
      asked.push(name);
      world.telegram.userSays(PEOPLE[asked.length % PEOPLE.length] ?? 0, name);
    };
    const isAnswered = (name: string): boolean =>
      texts().some((text) => text.replace('↻ ', '') === `Answer to ${name}`);
    for (let fault = 0; fault < FAULTS; fault += 1) {
      for (let n = 0; n < 4; n += 1) ask();
      await delay(random() * 600);
      await (state === 'full' ? world.fill() : world.setReadOnly(true));
      for (let n = 0; n < 3; n += 1) {
        ask();
        await delay(random() * 800);
      }
      await (state === 'full' ? world.free() : world.setReadOnly(false));
      await waitFor(() => asked.every(isAnswered), { timeoutMs: 120_000, what: `every answer after fault ${fault}` });
    }
    const plain = texts().filter((text) => text.startsWith('Answer to '));
    const marks = texts().filter((text) => text.startsWith('↻ ')).length;
    console.log(`seed ${seed}, ${state}: ${asked.length} messages, ${marks} marked copies`);
    expect(plain.filter((text, n) => plain.indexOf(text) !== n)).toEqual([]);
  },
);
