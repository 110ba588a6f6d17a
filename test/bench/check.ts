import { execa } from 'execa';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuOfTurns, measureWrites } from './measures.ts';
import { median, type World } from './world.ts';

/** A figure may grow by this share before it counts as worse. */
const TOLERANCE = 0.15;
const ROUNDS = 7;
const TURNS = 60;

/**
 * Compares the built package with the one of another commit by what the noise of a machine hardly touches: syncs, bytes
 * and allocations of a turn, and the processor time of turns that both run alternately.
 */
export async function checkAgainst(
  commit: string,
  { root, world }: { readonly root: string; readonly world: World },
): Promise<{ readonly rows: string; readonly isWorse: boolean }> {
  const program = await buildOf(commit, { root, folder: world.folder });
  const [old, now] = [await measureWrites(world, program), await measureWrites(world, world.entry)];
  const cpu = await alternately(world, program);
  const pairs = [
    ...now.map(({ what, value, unit }, at) => ({ what, unit, before: old[at]?.value ?? NaN, now: value })),
    { what: 'time on a processor, for a warm turn of the owner', unit: 'ms', ...cpu },
  ];
  const judged = pairs.map((pair) => ({ ...pair, isWorse: pair.now > pair.before * (1 + TOLERANCE) }));
  const rows = judged.map(
    ({ what, unit, before, now, isWorse }) =>
      `${what.padEnd(52)} ${before.toFixed(2).padStart(10)} → ${now.toFixed(2).padStart(10)} ${unit.padEnd(4)} ${isWorse ? '✗' : ''}\n`,
  );
  return { rows: `against ${commit}\n${rows.join('')}`, isWorse: judged.some(({ isWorse }) => isWorse) };
}

/** Builds the package of a commit in a folder of its own; returns its launcher. */
async function buildOf(
  commit: string,
  { root, folder }: { readonly root: string; readonly folder: string },
): Promise<string> {
  const tree = join(folder, 'before');
  await execa('git', ['clone', '--quiet', '--no-checkout', root, tree]);
  const { stdout } = await execa('git', ['rev-parse', commit], { cwd: root });
  await execa('git', ['checkout', '--quiet', stdout], { cwd: tree });
  const same = await execa('git', ['diff', '--quiet', stdout, '--', 'package-lock.json'], { cwd: root, reject: false });
  if (same.exitCode === 0) await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
  else await execa('npm', ['ci'], { cwd: tree });
  await execa('npm', ['run', 'build'], { cwd: tree });
  return join(tree, 'dist', 'launcher.cjs');
}

async function alternately(world: World, before: string): Promise<{ readonly before: number; readonly now: number }> {
  const times = { before: [] as number[], now: [] as number[] };
  for (let i = 0; i < ROUNDS; i += 1) {
    for (const [name, entry] of [['before', before] as const, ['now', world.entry] as const]) {
      await using child = await world.start({ entry });
      await cpuOfTurns(world, child, TURNS);
      times[name].push(await cpuOfTurns(world, child, TURNS));
    }
  }
  return { before: median(times.before), now: median(times.now) };
}
