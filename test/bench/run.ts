import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkAgainst } from './check.ts';
import { measureFloor, type Floor } from './floor.ts';
import { measureIdleHomes } from './homes.ts';
import { measureCrowd, measureDisk, measureHistory, measureStarts, measureTurns } from './measures.ts';
import { startPeers } from './servers.ts';
import { measurePackage } from './size.ts';
import { measureMachine } from './machine.ts';
import { measureStore } from './store.ts';
import { asMarkdown, asText, isKept, type Report, type Row } from './table.ts';
import { World } from './world.ts';

/**
 * Measures the whole process against lean servers on loopback, beside floors measured in the same run. Owner, all tools,
 * default settings, streaming on, unless a line says otherwise.
 *
 *     npm run bench                        the built package in dist/; exits 1 if a limit is exceeded
 *     npm run bench -- --short             fewer repetitions, without what takes long; limits are shown, not judged
 *     npm run bench -- --source            the source instead
 *     npm run bench -- --json FILE         the figures as JSON too
 *     npm run bench -- --docs              writes docs/benchmarks.md
 *     npm run bench -- --check [COMMIT]    only what noise does not touch, against the build of a commit; exits 1 when
 *                                          it became worse by more than 15%. Default: the commit before this one
 *     npm run bench -- --store             only what PostgreSQL adds to a turn; it has to be installed
 *     npm run bench -- --homes 50,1000     only what so many homes of one process cost in which nothing happens
 *     npm run bench -- --machine 1000      only gateways that run so many homes with PostgreSQL, and how homes go from one to another
 */
const ROOT = join(import.meta.dirname, '..', '..');
const { values, positionals } = parseArgs({
  options: {
    source: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
    store: { type: 'boolean', default: false },
    homes: { type: 'string' },
    machine: { type: 'string' },
    json: { type: 'string' },
  },
  allowPositionals: true,
});
const entry = join(ROOT, values.source ? 'src/launcher.cjs' : 'dist/launcher.cjs');
if (!existsSync(entry)) throw new Error(`${entry} does not exist; run npm run build first`);

const folder = await mkdtemp(join(tmpdir(), 'assistant-bench-'));
try {
  await using peers = await startPeers();
  const world = new World({ peers, folder, entry });
  process.exitCode = values.check ? await check(world) : await bench(world);
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function bench(world: World): Promise<number> {
  const { short } = values;
  const floor = await measureFloor(world);
  const rows = await measured(world, floor);
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const program = values.source ? 'from source' : 'built package';
  const report: Report = { version, node: process.version, program, scale: floor.scale, rows };
  process.stdout.write(asText(report));
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`);
  if (values.docs) await writeFile(join(ROOT, 'docs/benchmarks.md'), await page(report));
  return short || rows.every(isKept) ? 0 : 1;
}

async function measured(world: World, floor: Floor): Promise<readonly Row[]> {
  const { short, source } = values;
  if (values.store) return await measureStore({ world, short });
  if (values.machine !== undefined) return await measureMachine(world, { homes: Number(values.machine), short });
  if (values.homes !== undefined) {
    const library = join(ROOT, source ? 'src/app.ts' : 'dist/app.js');
    const rows: Row[] = [];
    for (const homes of values.homes.split(',').map(Number)) {
      rows.push(...(await measureIdleHomes(world, { library, homes, short })));
    }
    return rows;
  }
  const parts = { world, floor, short };
  return [
    ...(await measureStarts(parts)),
    ...(await measureTurns(parts)),
    ...(await measureHistory(parts)),
    ...(await measureCrowd(parts)),
    ...(await measureDisk(parts)),
    ...(source || short ? [] : await measurePackage(ROOT, folder)),
  ];
}

async function page(report: Report): Promise<string> {
  const path = join(ROOT, 'docs/benchmarks.md');
  const text = await readFile(path, 'utf8');
  const [begin, end] = ['<!-- begin: figures -->', '<!-- end: figures -->'];
  const [before = ''] = text.split(begin);
  const after = text.split(end)[1] ?? '';
  return `${before}${begin}\n\n${asMarkdown(report)}\n${end}${after}`;
}

async function check(world: World): Promise<number> {
  const { rows, isWorse } = await checkAgainst(positionals[0] ?? 'HEAD~1', { root: ROOT, world });
  process.stdout.write(rows);
  return isWorse ? 1 : 0;
}
