import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { runCommand } from './command-run.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, startWorld, type World } from './world.ts';

/** What a mishap does to a file; nothing is unreadable to root. */
const DAMAGES = ['gone', 'empty', 'zeroed', 'truncated', 'folder', 'random', 'unreadable'] as const;
type Damage = (typeof DAMAGES)[number];

function damage(path: string, how: Damage): void {
  const { size } = statSync(path);
  if (how === 'gone' || how === 'folder') rmSync(path);
  if (how === 'empty') truncateSync(path, 0);
  if (how === 'truncated') truncateSync(path, Math.floor(size / 2));
  if (how === 'folder') mkdirSync(path);
  if (how === 'zeroed') writeFileSync(path, Buffer.alloc(size));
  if (how === 'unreadable') chmodSync(path, 0o000);
  if (how === 'random')
    writeFileSync(
      path,
      Uint8Array.from({ length: Math.max(size, 64) }, (_, n) => (n * 7_919 + 13) % 256),
    );
}

/** Files whose damage harms nobody: each is made again, or is looked at by nobody until it is used. */
const HARMLESS =
  /^(?:lock|control|\.probe|config\.schema|sandbox\/|search\.db|logs\/|prompts\/|state\.db-|versions\/(?:memory|undo)\/|workspace\/skills\/)/u;

interface HomeToDamage {
  readonly world: World;
  /** Paths within the home. */
  readonly files: readonly string[];
  /** A fresh copy of the home, whose path is returned. */
  readonly freshHome: () => string;
  /** Runs another home instead, which is nearly empty. */
  readonly leave: () => Promise<unknown>;
}

/** A world whose home has a bit of everything, stopped, and copies of it to damage. */
async function homeToDamage(): Promise<HomeToDamage> {
  const world = await startWorld();
  world.model.setHandler(({ view }) => {
    const last = view.lastUserText.split('\n').at(-1) ?? '';
    if (view.toolResults.length > 0) return 'Done.';
    if (last.includes('remember')) return { calls: [{ name: 'memory_write', arguments: { fact: 'Likes green tea' } }] };
    if (last.includes('schedule'))
      return { calls: [{ name: 'cron', arguments: { action: 'add', when: 'every 24h', text: 'Drink water.' } }] };
    return `Answer to ${last}`;
  });
  for (const name of ['SOUL.md', 'USER.md']) writeFileSync(join(world.workspace, name), `# ${name}\n\nBe brief.\n`);
  for (const text of [
    'hello',
    'please remember tea',
    'schedule water',
    '/tape handoff We talked of tea.',
    'and again',
  ]) {
    const before = chatOf(world).length;
    world.telegram.userSays(OWNER, text);
    await waitFor(() => chatOf(world).length > before, { what: text });
  }
  const template = join(world.home, '..', 'template');
  await world.restart();
  const empty = join(world.home, '..', 'empty');
  mkdirSync(join(empty, 'workspace'), { recursive: true });
  cpSync(join(world.home, 'config.json'), join(empty, 'config.json'));
  await world.restart(empty);
  cpSync(world.home, template, { recursive: true });
  let homes = 0;
  return {
    world,
    files: readdirSync(template, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => relative(template, join(one.parentPath, one.name)))
      .filter((path) => !HARMLESS.test(path)),
    freshHome: () => {
      homes += 1;
      const home = join(world.home, '..', `damaged-${homes}`);
      cpSync(template, home, { recursive: true });
      return home;
    },
    leave: () => world.restart(empty),
  };
}

/** What a start after the damage says, and to whom; a cell of the table. */
interface Told {
  readonly file: string;
  readonly how: Damage;
  /** Why it did not start; empty: it did. */
  readonly refused: string;
  readonly chat: string;
  readonly status: string;
}

/** Each file with each damage, while the assistant is off or while it runs. */
export async function damageTable(
  when: 'off' | 'running',
  files: (all: readonly string[]) => readonly string[],
  damages: readonly Damage[] = DAMAGES.filter((how) => how !== 'unreadable' || process.getuid?.() !== 0),
): Promise<readonly Told[]> {
  const stage = await homeToDamage();
  await using _ = stage.world;
  const table: Told[] = [];
  for (const file of files(stage.files)) {
    for (const how of damages) table.push(await (when === 'off' ? whileOff : whileRunning)(stage, { file, how }));
  }
  return table;
}

type Cell = Pick<Told, 'file' | 'how'>;

async function whileOff({ world, freshHome }: HomeToDamage, { file, how }: Cell): Promise<Told> {
  const home = freshHome();
  damage(join(home, file), how);
  const before = chatOf(world).length;
  try {
    await world.restart(home);
    if (file !== 'config.json') await talk(world);
    return { file, how, refused: '', chat: since(world, before), status: (await runCommand(['status'], home)).out };
  } catch (error) {
    return { file, how, refused: String(error), chat: '', status: '' };
  }
}

/** What the process has open is looked at every 5 s; all else at its next use, or at the next start. */
async function whileRunning({ world, freshHome, leave }: HomeToDamage, { file, how }: Cell): Promise<Told> {
  const home = freshHome();
  await world.restart(home);
  await talk(world);
  const before = chatOf(world).length;
  const name = basename(file);
  damage(join(home, file), how);
  await waitFor(() => since(world, before).includes(name), { timeoutMs: 8_000 }).catch(() => {});
  if (!since(world, before).includes(name)) await talk(world);
  let status = (await runCommand(['status'], home)).out;
  let refused = '';
  if (!`${since(world, before)}${status}`.includes(name)) {
    await world
      .restart(home)
      .then(() => talk(world))
      .catch((error: unknown) => (refused = String(error)));
    status += (await runCommand(['status'], home)).out;
  }
  const told = { file, how, refused, chat: since(world, before), status };
  await leave();
  return told;
}

async function talk(world: World): Promise<void> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, 'good day');
  const isAnswered = (): boolean => chatOf(world).slice(before).includes('Answer to good day');
  await waitFor(isAnswered, { timeoutMs: 10_000 }).catch(() => {});
}

/** What was said since, beside the answers. */
const since = (world: World, before: number): string =>
  chatOf(world)
    .slice(before)
    .filter((text) => text !== 'Answer to good day')
    .join('\n');
