import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runEnclosed, type SandboxEngine } from '../security/enclosure/enclosure.ts';
import type { Sandbox } from '../security/enclosure/sandbox.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { apply, manifestOf } from './apply.ts';
import { findChanges } from './changes.ts';
import type { LandingProbe } from './contract.ts';
import { findStore } from './store.ts';
import { Pace } from './tree.ts';
import {
  makeLayers,
  mountMerged,
  mountsBelow,
  mountsOver,
  mountWords,
  removeTree,
  viewPrograms,
  type Layers,
} from './view.ts';

const OVERLAYFS = 0x794c7630;
const VOLUME = 'Put the workspace on a disk of its own, in Docker on a volume that holds the whole home.';

interface SelfTest {
  readonly store: string;
  readonly workspace: string;
  readonly programs: ReadonlyMap<string, string>;
  readonly engine: SandboxEngine;
  readonly clock: Clock;
}

const SCRIPT =
  'cat kept && echo x >> edited && rm gone && rm -r opaque && mkdir opaque && echo n > opaque/new && ln -s kept link';
const CHANGES = 'delete gone, delete opaque/old, put edited, put link, put opaque/new';
const NAMES = 'edited kept link opaque opaque/new';

/** Finds out whether views work here: the self-test runs a command on one. `store`: where they are made. */
export async function probeViews({
  workspace: place,
  home,
  sandbox,
  clock,
}: {
  readonly workspace: string;
  readonly home: string;
  /** Null: commands run without one. */
  readonly sandbox: Pick<Sandbox, 'probe'> | null;
  readonly clock: Clock;
}): Promise<LandingProbe & { readonly store?: string }> {
  try {
    const workspace = realpathSync(place);
    const probe = await sandbox?.probe();
    if (probe === undefined) return no('commands run without a sandbox');
    if (!probe.available) return no('there is no sandbox');
    const programs = viewPrograms();
    if (typeof programs === 'string') return no(`${programs} isn't installed`);
    const store = findStore(home, workspace);
    if (store === undefined) return no(`nothing can be moved from ${home} into the workspace`, VOLUME);
    const trouble = await selfTest({ store, workspace, programs, engine: probe.engine, clock });
    return trouble === undefined ? { available: true, store } : no(trouble);
  } catch (error) {
    return no(errorMessage(error));
  }
}

/** What can be seen without a test to stand in the way of views: a missing program, overlayfs, a mount inside the workspace. */
export function obstacle(place: string): ReturnType<typeof no> | undefined {
  const workspace = realpathSync(place);
  const programs = viewPrograms();
  if (typeof programs === 'string') return no(`${programs} isn't installed`, 'Install util-linux and coreutils.');
  if (statfsSync(workspace).type === OVERLAYFS) return no('the workspace is on overlayfs', VOLUME);
  const [mount] = mountsBelow(workspace);
  return mount === undefined ? undefined : no(`${mount} is a mount inside the workspace`, 'Mount it elsewhere.');
}

function no(reason: string, remedy?: string): LandingProbe & { readonly available: false } {
  return { available: false, reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** Why views can't be used here; undefined: a command's changes were found and landed. */
async function selfTest(test: SelfTest): Promise<string | undefined> {
  const { store, workspace, programs, clock } = test;
  const folder = mkdtempSync(join(store, 'self-test-'));
  const pace = new Pace(clock);
  try {
    const scratch = join(folder, 'scratch');
    mkdirSync(join(scratch, 'opaque'), { recursive: true });
    for (const name of ['edited', 'gone', 'opaque/old', 'kept']) writeFileSync(join(scratch, name), name);
    const layers = await makeLayers(join(folder, 'view'), scratch, clock);
    const failed = await run(SCRIPT, layers, test);
    if (failed !== undefined) return `a command failed on a view: ${failed}`;
    const upper = join(layers.folder, 'upper');
    const { changes } = await (async () => {
      await using merged = await mountMerged(layers, programs);
      return await findChanges({ upper, lower: scratch, merged: merged.path }, pace);
    })();
    const found = changes
      .map(({ op, path }) => `${op} ${path}`)
      .sort()
      .join(', ');
    if (found !== CHANGES) return `the changes of a command weren't found: ${found}`;
    if (readFileSync(join(scratch, 'edited'), 'utf8') !== 'edited') return 'a command on a view changed the workspace';
    const saved = join(folder, 'saved');
    mkdirSync(saved);
    const manifest = await manifestOf(changes, { workspace: scratch, source: upper, saved }, pace);
    await apply(manifest, { pace, onStep: () => {} });
    const names = readdirSync(scratch, { recursive: true, encoding: 'utf8' }).sort().join(' ');
    if (names !== NAMES) return `the changes of a command landed wrongly: ${names}`;
    const real = await makeLayers(join(folder, 'real'), workspace, clock);
    const refused = await run('true', real, test);
    return refused === undefined ? undefined : `the workspace couldn't be mounted: ${refused}`;
  } finally {
    await removeTree(join(folder, 'real')).catch(() => {});
    await removeTree(join(folder, 'view')).catch(() => {});
    await removeTree(folder).catch(() => {});
  }
}

/** What a script said that failed. */
async function run(script: string, layers: Layers, { engine, programs, clock }: SelfTest): Promise<string | undefined> {
  const { workspace } = layers;
  const mounts = mountsOver(layers, [{ path: workspace, as: 'write' }]);
  const view = { around: mountWords(layers, programs) };
  const command = ['/bin/sh', '-c', script];
  const program = { command, cwd: workspace, environment: { PATH: '/usr/local/bin:/usr/bin:/bin' } };
  const child = runEnclosed(program, { engine, mounts, network: false, view, clock });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const { code } = await child.exit;
  return code === 0 ? undefined : said.trim().slice(0, 500);
}
