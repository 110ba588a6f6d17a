import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeLayers, mountWords, viewPrograms, type Layers } from '../../src/core/landing/view.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { landingWorld } from './landing-world.ts';

const SEED = String.raw`mkdir -p keep gone/a/b swap dirfile ro/in; for i in $(seq 70); do echo $i > swap/$i; echo $i > gone/a/b/$i; done
echo 1 > one; echo 2 > two; ln two hard; ln -s one link; echo f > filedir; echo x > dirfile/x; echo k > keep/k; echo q > ro/in/q
chmod 555 ro/in; mkfifo pipe; echo t > touched; touch -d @1700000000.25 touched; echo m > moded; cp -a moded moded2; echo s > "odd,na:me\\ 'x"`;
const CHANGE = String.raw`set -e; echo new > one; rm two; rm -r gone; rm -r swap; mkdir swap; for i in $(seq 66); do echo n$i > swap/n$i; done
rm -r dirfile; echo now-a-file > dirfile; rm filedir; mkdir -p filedir/deep; echo y > filedir/deep/y; ln -sfn keep link; rm pipe; mkfifo pipe2
mv keep/k keep/renamed; chmod 700 keep; mkdir ronew; echo z > ronew/z; chmod 555 ronew; chmod 755 ro/in; rm ro/in/q; chmod 500 ro/in
touch -d @1750000000.5 touched; chmod 600 moded; truncate -s 5M sparse; echo t >> "odd,na:me\\ 'x"`;

/** `land`, `undo`: what is killed. `race`: another program replaces a file in the middle of the landing, which is then taken back. */
export type Phase = 'land' | 'undo' | 'race';

/** The file that another program replaces in a race; the command removes it. */
export const RACED = 'two';

/** Names, kinds, modes and bytes of a tree; of files also mtimes to a microsecond, and inodes. */
export function digest(root: string, { inodes }: { readonly inodes: boolean }): string {
  const lines: string[] = [];
  const walk = (rel: string): void => {
    for (const name of readdirSync(join(root, rel)).toSorted()) {
      const path = join(rel, name);
      const stats = lstatSync(join(root, path), { bigint: true });
      const bytes = stats.isFile()
        ? createHash('sha1')
            .update(readFileSync(join(root, path)))
            .digest('hex')
        : '';
      const target = stats.isSymbolicLink() ? readlinkSync(join(root, path)) : '';
      const mtime = stats.isDirectory() ? '' : `${(stats.mtimeNs + 500n) / 1000n}`;
      lines.push([path, stats.mode.toString(8), inodes ? stats.ino : '', mtime, bytes, target].join(' '));
      if (stats.isDirectory()) walk(path);
    }
  };
  walk('');
  return lines.join('\n');
}

export interface Prepared extends Disposable {
  readonly home: string;
  readonly workspace: string;
  readonly before: string;
  readonly wanted: string;
}

/** A home whose view holds the changes of a command, ready to land. */
async function prepare(base: string): Promise<Prepared> {
  const home = mkdtempSync(join(base, 'assistant-test-'));
  const workspace = join(home, 'workspace');
  mkdirSync(workspace);
  mkdirSync(join(home, 'landings'));
  shell(['bash', '-c', SEED], workspace);
  const layers = await makeLayers(join(home, 'landings', 'v1'), workspace, systemClock);
  await new Promise((resolve) => setTimeout(resolve, 12));
  const wanted = join(home, 'wanted');
  const programs = viewPrograms();
  if (typeof programs === 'string') throw new Error(`${programs} is missing`);
  const script = `cd merged; ${CHANGE}; cp -a . ${wanted}`;
  const [program = '', ...words] = mountWords(layers, programs);
  shell([program, ...words, 'bash', '-c', script], home);
  const text = JSON.stringify(layers, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  writeFileSync(join(home, 'layers.json'), text);
  return {
    home,
    workspace,
    before: digest(workspace, { inodes: true }),
    wanted: digest(wanted, { inodes: false }),
    [Symbol.dispose]: () => {
      spawnSync('chmod', ['-R', 'u+rwx', home]);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export function layersOf(home: string): Layers {
  return JSON.parse(readFileSync(join(home, 'layers.json'), 'utf8'), (_, value: unknown) =>
    typeof value === 'string' && /^\d+n$/u.test(value) ? BigInt(value.slice(0, -1)) : value,
  ) as Layers;
}

function shell([program = '', ...words]: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(program, words, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`exit ${status}: ${stderr}`);
}

const CHILD = fileURLToPath(new URL('landing-child.ts', import.meta.url));

/** Kills a process at its n-th step. */
async function killed(home: string, phase: Phase, step: number): Promise<'killed' | 'ended'> {
  const child = spawn(process.execPath, [CHILD, home, phase, String(step)], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (signal === 'SIGKILL') return 'killed';
  if (code !== 0) throw new Error(said);
  return 'ended';
}

export type Outcome = 'before' | 'after' | 'neither';

/** Lets a killed process's successor recover, and says which tree is there. */
async function recovered({ home, workspace, before, wanted }: Prepared, phase: Phase): Promise<Outcome> {
  await using world = await landingWorld({ home });
  await world.landing.recover();
  if (world.journal.landings.unfinished().length > 0) return 'neither';
  const now = digest(workspace, { inodes: false });
  if (now === wanted) return 'after';
  const own = (text: string): string => (phase === 'race' ? text.replace(new RegExp(`^${RACED} .*$`, 'mu'), '') : text);
  return own(digest(workspace, { inodes: true })) === own(before) ? 'before' : 'neither';
}

/** One kill; undefined: the process ended before it came to that step. */
export async function killOnce(base: string, phase: Phase, step: number): Promise<Outcome | undefined> {
  using prepared = await prepare(base);
  if (phase === 'undo') await killed(prepared.home, 'land', Infinity);
  const how = await killed(prepared.home, phase, step);
  const outcome = await recovered(prepared, phase);
  if (how === 'ended') return undefined;
  if (outcome === 'neither' || phase !== 'land' || outcome === 'before') return outcome;
  // What recovery has finished can be undone like everything else.
  await killed(prepared.home, 'undo', Infinity);
  return (await recovered(prepared, phase)) === 'before' ? outcome : 'neither';
}
