import { statfsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { execWorld } from '../support/exec-world.ts';
import { IN_SANDBOX, noBubblewrap, running } from '../support/sandbox-world.ts';
import { waitFor } from '../support/wait.ts';

let serial = 0;
const uniqueSleep = (): string => `6${process.pid}.${(serial += 1)}`;

/** Starts itself twice, again and again: 2,047 processes in the end, if nothing stops it. */
const TREE = `n=$1
if [ "$n" -gt 0 ]; then sh tree.sh $((n - 1)) "$2" & sh tree.sh $((n - 1)) "$2" & fi
exec sleep "$2"
`;

describe.each([
  { mode: 'auto', where: IN_SANDBOX },
  { mode: 'full', where: 'without a sandbox' },
] as const)('with the limits that everybody has, $where', ({ mode }) => {
  const it = test.skipIf(mode === 'auto' && noBubblewrap !== undefined);

  it.each([
    ['one after the other', (mark: string) => `i=0; while [ $i -lt 2000 ]; do sleep ${mark} & i=$((i+1)); done; wait`],
    ['each two more', (mark: string) => `sh tree.sh 10 ${mark}`],
  ])('2,000 processes, started %s, end with a clear result and leave nothing', async (_, command) => {
    await using world = await execWorld(mode);
    await writeFile(join(world.workspace, 'tree.sh'), TREE);
    const mark = uniqueSleep();
    const begun = performance.now();
    const done = world.run(command(mark), { timeoutSeconds: 20 });
    let most = 0;
    const counting = setInterval(() => (most = Math.max(most, running(`sleep\0${mark}`))), 100);
    const result = await done;
    clearInterval(counting);
    const seconds = Math.round((performance.now() - begun) / 100) / 10;
    process.stdout.write(`${mode}: at most ${most} at once, ended after ${seconds} s: ${result.output.slice(-120)}\n`);
    expect(result.isError).toBe(true);
    expect(result.output).toMatch(/Resource temporarily unavailable|[Cc]annot fork|more than 512 processes ran/u);
    await waitFor(() => running(mark) === 0, { timeoutMs: 5_000 });
  });

  it('endless output ends with a clear result', async () => {
    await using world = await execWorld(mode);
    const begun = performance.now();
    const before = process.resourceUsage().maxRSS;
    const result = await world.run('yes');
    const grown = Math.round((process.resourceUsage().maxRSS - before) / 1024);
    process.stdout.write(
      `${mode}: ${String(result.metadata['bytes'])} bytes in ${Math.round(performance.now() - begun)} ms, ${grown} MiB more\n`,
    );
    expect(result.output).toContain('The command was ended because it wrote more than 1024 MiB of output.');
    expect(grown).toBeLessThan(100);
  });

  it('a disk filler ends before the disk is full', async () => {
    const free = (): number => {
      const { bavail, bsize } = statfsSync('/tmp');
      return bavail * bsize;
    };
    const least = free() - 2 * 1024 ** 3;
    await using world = await execWorld(mode, { limits: { freeBytes: least } });
    const result = await world.run('i=0; while [ $i -lt 100 ]; do head -c 1G /dev/zero > f$i; i=$((i+1)); done');
    expect(result.output).toContain('The command was ended because the disk was almost full.');
    expect(free()).toBeGreaterThan(least - 2 * 1024 ** 3);
  });
});
