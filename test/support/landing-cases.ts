import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Changes } from '../../src/core/landing/contract.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { digest } from './landing-kills.ts';
import { landingWorld, type LandingWorld } from './landing-world.ts';

/** Cases of landings, by the sentence that each proves. They run as root and as an ordinary user, on several file systems. */
export const CASES: Readonly<Record<string, (world: LandingWorld) => Promise<void>>> = {
  'a command sees the workspace, and nothing of its changes is there before they land': async (world) => {
    put(world, 'a', 'old');
    const { text, view } = await world.on('cat a; echo new > a; echo b > b');
    assert.equal(text, 'old');
    assert.deepEqual([read(world, 'a'), has(world, 'b')], ['old', false]);
    await landed(world, view);
    assert.deepEqual([read(world, 'a'), read(world, 'b')], ['new\n', 'b\n']);
  },
  'additions, changes, removals and modes are listed, and folders that a command made are marked as a whole': async (
    world,
  ) => {
    for (const name of ['a', 'b', 'c', 'd/e']) put(world, name, name);
    const changes = await changesOf(world, 'echo 2 > a; rm b; chmod 700 c; rm -r d; mkdir -p n/m; echo x > n/m/x');
    assert.deepEqual(
      changes.paths.map(({ how, path }) => `${how} ${path}`),
      ['changed a', 'attributes c', 'added n', 'added n/m', 'added n/m/x', 'removed b', 'removed d'],
    );
    assert.deepEqual(changes.marks, [
      { path: 'a', isFolder: false },
      { path: 'n', isFolder: true },
    ]);
  },
  'a command that changes nothing lands nothing, also when it opened files for writing': async (world) => {
    put(world, 'a', 'same');
    const result = await world.run('exec 3<>a; printf same > b; rm b');
    assert.deepEqual(result, { landed: { paths: [], canUndo: true }, text: '' });
  },
  'nothing lands when the judge says no, and the reason is passed on': async (world) => {
    const judge = async () => ({ lands: false as const, reason: 'nobody could be asked' });
    assert.deepEqual(await world.run('echo a > a', { judge }), { notLanded: 'nobody could be asked', text: '' });
    assert.deepEqual(readdirSync(world.workspace), []);
  },
  'undo brings back bytes, modes, times and inodes': async (world) => {
    for (const name of ['one', 'dir/x', 'gone/y', 'link-to']) put(world, name, name);
    chmodSync(at(world, 'one'), 0o640);
    utimesSync(at(world, 'one'), 1.7e9, 1.7e9);
    symlinkSync('one', at(world, 'link'));
    await soon();
    const before = digest(world.workspace, { inodes: true });
    const script =
      'echo 2 > one; chmod 600 one; rm -r gone; rm -r dir; echo f > dir; ln -sfn dir link; mkdir new; touch new/z';
    const id = await run(world, script);
    assert.notEqual(digest(world.workspace, { inodes: true }), before);
    assert.equal((await world.landing.undo(id, never)).undone, true);
    assert.equal(digest(world.workspace, { inodes: true }), before);
  },
  'two landings of the same file are undone one after the other': async (world) => {
    put(world, 'a', '0');
    const first = await run(world, 'echo 1 > a');
    const second = await run(world, 'echo 2 > a');
    const early = await world.landing.undo(first, never);
    assert.deepEqual([early.undone, 'changed' in early && early.changed], [false, ['a']]);
    assert.equal((await world.landing.undo(second, never)).undone, true);
    assert.equal((await world.landing.undo(first, never)).undone, true);
    assert.equal(read(world, 'a'), '0');
  },
  'undo does nothing and lists the files when they have changed since': async (world) => {
    put(world, 'a', '0');
    put(world, 'b', '0');
    const id = await run(world, 'echo 1 > a; echo 1 > b');
    await soon();
    appendFileSync(at(world, 'b'), 'mine');
    const undone = await world.landing.undo(id, never);
    assert.deepEqual(undone, { undone: false, reason: 'its files have changed since', changed: ['b'] });
    assert.equal(read(world, 'a'), '1\n');
  },
  'nothing lands over a file that was written meanwhile, also with its old mtime': async (world) => {
    put(world, 'a', 'old');
    const { view } = await world.on('echo command > a');
    const { atimeMs, mtimeMs } = statSync(at(world, 'a'));
    writeFileSync(at(world, 'a'), 'own');
    utimesSync(at(world, 'a'), atimeMs / 1e3, mtimeMs / 1e3);
    await refused(world, view, /a has changed/u);
    assert.equal(read(world, 'a'), 'own');
  },
  'nothing lands over a file that was replaced, or has appeared': async (world) => {
    put(world, 'a', 'old');
    const { view } = await world.on('echo command > a; echo command > n');
    put(world, 'tmp', 'own');
    renameSync(at(world, 'tmp'), at(world, 'a'));
    put(world, 'n', 'own');
    await refused(world, view, /changed/u);
    assert.deepEqual([read(world, 'a'), read(world, 'n')], ['own', 'own']);
  },
  'a folder is not removed when something deep in it has changed': async (world) => {
    put(world, 'd/e/f/g', 'old');
    const { view } = await world.on('rm -r d');
    writeFileSync(at(world, 'd/e/f/g'), 'own');
    await refused(world, view, /d\/e\/f\/g has changed/u);
    assert.equal(read(world, 'd/e/f/g'), 'own');
  },
  'a new name does not bring back what was removed from its folder meanwhile': async (world) => {
    put(world, 'd/a', 'a');
    const { view } = await world.on('echo n > d/n');
    unlinkSync(at(world, 'd/a'));
    await refused(world, view, /was removed/u);
  },
  'of two commits made at the same time only one lands, and the repository is whole': async (world) => {
    git(world, 'init -q && echo a > a && git add a && git commit -q -m 1');
    await soon();
    const [one, two] = await Promise.all([
      world.on(`echo 1 > b && git add b && ${COMMIT} one`),
      world.on(`echo 2 > c && git add c && ${COMMIT} two`),
    ]);
    assert.deepEqual([one.code, two.code], [0, 0], one.text + two.text);
    await landed(world, one.view);
    await refused(world, two.view, /\.git/u);
    assert.equal(git(world, 'fsck --strict && git log --format=%s'), 'one\n1\n');
  },
  'git status changes nothing, and a commit in a view lands': async (world) => {
    git(world, 'init -q && echo a > a && git add a && git commit -q -m 1');
    await soon();
    assert.deepEqual(await world.run('git status --short'), { landed: { paths: [], canUndo: true }, text: '' });
    await run(world, `echo 2 > a && git -c user.name=a -c user.email=a@example.org commit -qam second`);
    assert.equal(git(world, 'status --short && git log --format=%s'), 'second\n1\n');
  },
  'programs read all files, tar and wc included': async (world) => {
    for (const name of ['a', 'b', 'c']) put(world, name, `${name}\n`);
    const { text } = await world.run('wc -l * | tail -n 1; tar c . | tar t | wc -l');
    assert.match(text, /3 total\n\s*4/u);
  },
  'git mv, os.rename and fs.rename of a folder fail with EXDEV, and mv works': async (world) => {
    put(world, 'd/a', 'a');
    const { text, code } = await world.on(`python3 -c 'import os; os.rename("d", "e")'`);
    assert.deepEqual([code, /EXDEV|cross-device/iu.test(text)], [1, true], text);
    await run(world, 'mv d e');
    assert.deepEqual([has(world, 'd'), read(world, 'e/a')], [false, 'a']);
  },
  ...Object.fromEntries(
    (['wal', 'delete'] as const).flatMap((mode) =>
      (['busy', 'idle'] as const).map((state) => [
        `a database that a server has open (${mode}, ${state}) is left alone`,
        async (world: LandingWorld) => {
          await using server = await sqliteServer(world, mode, state);
          const { text, code, view } = await world.on(`python3 -c '${WRITER}'`);
          assert.equal(code, 0, text);
          await refused(world, view, /db/u);
          assert.equal(await server.check(), 'ok');
        },
      ]),
    ),
  ),
  'a file that a program holds open for writing is not replaced, however long it is idle': async (world) => {
    put(world, 'log', 'x');
    const holder = spawn('sh', ['-c', 'exec 3>>log; echo ready; read -r _'], { cwd: world.workspace });
    await once(holder.stdout, 'data');
    await soon();
    const { view } = await world.on('echo y > log');
    await refused(world, view, /open elsewhere/u);
    holder.stdin.end();
  },
  "the shared memory of a database doesn't land": async (world) => {
    put(world, 'db', 'x');
    put(world, 'db-shm', 'theirs');
    await run(world, 'echo own > db-shm; echo b > b');
    assert.equal(read(world, 'db-shm'), 'theirs');
  },
  'a folder in which a background process runs is not replaced or removed': async (world) => {
    put(world, 'd/a', 'a');
    const { view } = await world.on('rm -r d');
    const result = await world.land(view, { busyFolders: () => [at(world, 'd')] });
    assert.match('notLanded' in result ? result.notLanded : '', /background process/u);
    assert.equal(has(world, 'd/a'), true);
  },
  'files and folders take the place of each other, and links, pipes and sparse files land': async (world) => {
    put(world, 'd/a', 'a');
    put(world, 'f', 'f');
    await run(world, 'rm -r d f; echo d > d; mkdir f; echo x > f/x; ln -s /etc/passwd l; mkfifo p; truncate -s 3M s');
    assert.deepEqual(
      [read(world, 'd'), read(world, 'f/x'), statSync(at(world, 's')).size],
      ['d\n', 'x\n', 3 * 1024 ** 2],
    );
    assert.deepEqual([lstatSync(at(world, 'l')).isSymbolicLink(), lstatSync(at(world, 'p')).isFIFO()], [true, true]);
  },
  'a link in the place of a folder leads no landing out of the workspace': async (world) => {
    put(world, 'd/a', 'a');
    mkdirSync(join(world.home, 'outside'));
    writeFileSync(join(world.home, 'outside', 'a'), 'outside');
    const { view } = await world.on('echo command > d/a; chmod 700 d');
    renameSync(at(world, 'd'), at(world, 'was'));
    symlinkSync(join(world.home, 'outside'), at(world, 'd'));
    await refused(world, view, /./u);
    assert.equal(readFileSync(join(world.home, 'outside', 'a'), 'utf8'), 'outside');
  },
  'chmod of many large files keeps their inodes and takes no undo copies': async (world) => {
    for (let n = 0; n < 20; n += 1) put(world, `big/${n}`, 'x'.repeat(1_000_000));
    const { ino } = statSync(at(world, 'big/7'));
    const changes = await changesOf(world, 'chmod -R go-r big');
    assert.ok(changes.paths.every(({ how }) => how === 'attributes'));
    await run(world, 'chmod -R go-r big');
    assert.equal(world.journal.landings.keptBytes(), 0);
    assert.deepEqual([statSync(at(world, 'big/7')).ino, statSync(at(world, 'big/7')).mode & 0o777], [ino, 0o600]);
  },
  'many new files land as one folder': async (world) => {
    const id = await run(world, 'mkdir m; cd m; for i in $(seq 40); do mkdir $i; (cd $i; touch $(seq 50)); done');
    assert.equal(readdirSync(at(world, 'm/40')).length, 50);
    assert.equal((await world.landing.undo(id, never)).undone, true);
    assert.deepEqual(readdirSync(world.workspace), []);
  },
  'a read-only folder is changed, and stays read-only': async (world) => {
    put(world, 'ro/a', 'a');
    chmodSync(at(world, 'ro'), 0o555);
    const id = await run(world, 'chmod 755 ro; rm ro/a; chmod 555 ro');
    assert.deepEqual([statSync(at(world, 'ro')).mode & 0o777, has(world, 'ro/a')], [0o555, false]);
    assert.equal((await world.landing.undo(id, never)).undone, true);
    assert.equal(read(world, 'ro/a'), 'a');
    chmodSync(at(world, 'ro'), 0o755);
  },
  'a folder that the command closed does not count as emptied': async (world) => {
    put(world, 'd/a', 'a');
    const result = await world.run('echo b > b; echo x > d/a; chmod 000 d');
    assert.equal(has(world, 'd'), true);
    // As root it can be read, so it lands.
    if ('notLanded' in result) assert.match(result.notLanded, /d can't be read/u);
    chmodSync(at(world, 'd'), 0o755);
    assert.equal(has(world, 'd/a'), true);
  },
  'protected places are listed, also when a folder above them goes': async (world) => {
    put(world, 'SOUL.md', 'kind');
    put(world, 'memory/MEMORY.md', 'tea');
    put(world, 'cron/jobs.json', '[]');
    const changes = await changesOf(world, 'echo evil > SOUL.md; echo x > memory/n; rm -r cron');
    assert.deepEqual(
      changes.needsApproval.map(({ why, paths }) => [why, paths]),
      [['protected', ['SOUL.md', 'memory/n', 'cron']]],
    );
  },
  'deletions that the undo store has no room for need approval, and earlier undo copies stay': async (world) => {
    put(world, 'first', 'x'.repeat(1000));
    put(world, 'second', 'y'.repeat(1000));
    await using small = await landingWorld({ home: world.home, quotaBytes: 1500 });
    const id = await run(small, 'rm first');
    const seen: string[] = [];
    const judge = async ({ needsApproval }: Changes, _signal: AbortSignal, again: boolean) => {
      if (!again) seen.push(...needsApproval.map(({ why }) => why));
      return { lands: true as const };
    };
    const result = await small.run('rm second', { judge });
    assert.deepEqual([seen, 'landed' in result && result.landed.canUndo], [['no-undo'], false]);
    assert.equal((await small.landing.undo(id, never)).undone, true);
    assert.equal(read(world, 'first').length, 1000);
  },
  'what was judged is what lands: a later write into the view ends the landing': async (world) => {
    const { view } = await world.on('echo good > a');
    const judge = async (changes: Changes) => {
      writeFileSync(changes.after('a'), 'evil');
      return { lands: true as const };
    };
    const result = await world.land(view, { judge });
    assert.match('notLanded' in result ? result.notLanded : '', /changed/u);
    assert.equal(has(world, 'a'), false);
  },
  '/stop while it is judged lands nothing and leaves no trace': async (world) => {
    const stop = new AbortController();
    const judge = async () => {
      stop.abort(new Error('stopped'));
      return { lands: true as const };
    };
    await assert.rejects(world.run('echo a > a', { judge, signal: stop.signal }), /stopped/u);
    assert.equal(has(world, 'a'), false);
    assert.deepEqual(world.journal.landings.ages().size, 0);
  },
  'marks and the row of a landing are one transaction: if marking fails nothing lands': async (world) => {
    const commit = () => {
      throw new Error('marks are full');
    };
    const result = await world.run('echo a > a', { commit });
    assert.match('notLanded' in result ? result.notLanded : '', /marks are full/u);
    assert.deepEqual([has(world, 'a'), world.journal.landings.ages().size], [false, 0]);
  },
  'a name that is not valid UTF-8 lands not at all': async (world) => {
    const result = await world.run(String.raw`echo x > $'\xff'; echo a > a`);
    assert.match('notLanded' in result ? result.notLanded : '', /UTF-8/u);
    assert.equal(has(world, 'a'), false);
  },
  'processes that a command leaves are dead before its changes are listed': async (world) => {
    await run(world, '(while :; do echo x >> a; done) & sleep 0.05; echo b > b');
    const { size } = statSync(at(world, 'a'));
    await soon();
    assert.equal(statSync(at(world, 'a')).size, size);
  },
  'ending a command in its first milliseconds leaves no process behind': async (world) => {
    const view = await world.landing.open({ signal: never });
    for (let n = 0; n < 3; n += 1) {
      const child = await world.start(`exec -a left-${world.home.slice(-6)} sleep 30`, view);
      await new Promise((resolve) => setTimeout(resolve, n * 4));
      await child.end();
    }
    await soon();
    const { stdout } = spawnSync('sh', ['-c', 'cat /proc/[0-9]*/cmdline 2>/dev/null'], { encoding: 'latin1' });
    assert.equal(stdout.includes(`left-${world.home.slice(-6)}\0`), false);
  },
  'views of a process that died are discarded': async (world) => {
    const { view } = await world.on('echo a > a');
    await world.landing.recover();
    assert.deepEqual(readdirSync(join(world.home, 'landings')), []);
    await view[Symbol.asyncDispose]();
  },
  'one damaged row keeps no other from being recovered': async (world) => {
    const row = {
      session: 'chat',
      turn: 't',
      callId: 'c',
      command: '',
      undoes: null,
      paths: ['a'],
      undoBytes: 0,
      isKept: true,
      at: 1,
      begunNs: 1n,
      doneNs: null,
      state: 'landing' as const,
    };
    mkdirSync(join(world.home, 'landings', 'A', 'saved'), { recursive: true });
    await world.journal.landings.begin({ ...row, id: 'A', steps: 'not JSON' }, () => {});
    await world.journal.landings.begin({ ...row, id: 'B', steps: '[]' }, () => {});
    await world.landing.recover();
    assert.deepEqual(
      world.journal.landings.unfinished().map(({ id }) => id),
      ['A'],
    );
    assert.equal(world.journal.landings.get('B')?.state, 'lost');
  },
  'a workspace on another disk than the home has its views and undo copies beside itself': async (first) => {
    const home = join(first.home, 'other');
    mkdirSync(home);
    const other = mkdtempSync(join(home.startsWith('/dev/shm') ? '/tmp' : '/dev/shm', 'assistant-test-'));
    try {
      await using world = await landingWorld({ home, workspace: join(other, 'work') });
      put(world, 'a', 'a');
      const id = await run(world, 'rm a; echo b > b');
      assert.deepEqual([has(world, 'a'), readdirSync(other).length], [false, 2]);
      assert.equal((await world.landing.undo(id, never)).undone, true);
      assert.equal(read(world, 'a'), 'a');
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  },
  "another user's file is readable, can't be written and can be removed": async (world) => {
    put(world, 'theirs', 'text');
    // Only root can make such a file.
    if (process.getuid?.() !== 0) return;
    chmodSync(at(world, 'theirs'), 0o666);
    chownSync(at(world, 'theirs'), 12345, 12345);
    await soon();
    assert.notEqual((await world.on('cat theirs && echo x >> theirs')).code, 0);
    await run(world, 'rm theirs');
    assert.equal(has(world, 'theirs'), false);
  },
  'there are no views while something is mounted below the workspace': async (world) => {
    if (process.getuid?.() !== 0) return;
    mkdirSync(at(world, 'm'));
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', 'none', at(world, 'm')]).status, 0);
    try {
      await assert.rejects(world.landing.open({ signal: never }), /m is a mount inside the workspace/u);
    } finally {
      spawnSync('umount', [at(world, 'm')]);
    }
    await using _view = await world.landing.open({ signal: never });
  },
  'undo copies of last week make room when the undo store is more than half full; newer ones never do': async (
    world,
  ) => {
    put(world, 'first', 'x'.repeat(1000));
    put(world, 'second', 'y'.repeat(1000));
    const pace = async () => {};
    let ahead = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + ahead };
    await using small = await landingWorld({ home: world.home, quotaBytes: 1500, clock });
    const first = await run(small, 'rm first');
    assert.deepEqual(await small.landing.sweep({ before: 1, pace }), { removed: 0, bytes: 1000 });
    ahead = 8 * 86_400_000;
    assert.deepEqual(await small.landing.sweep({ before: 1, pace }), { removed: 1, bytes: 0 });
    assert.equal(small.landing.ofTurn('chat', 't1')[0]?.state, 'not-undoable');
    assert.equal((await small.landing.undo(first, never)).undone, false);
    const second = await run(small, 'rm second');
    assert.deepEqual(await small.landing.sweep({ before: 1, pace }), { removed: 0, bytes: 1000 });
    assert.equal((await small.landing.undo(second, never)).undone, true);
  },
  'a process that is held up between two readings of its clocks lands all the same; a clock that was set back does not':
    async (world) => {
      put(world, 'kept', 'x');
      let [wall, held, hold] = [0, 0, 0];
      const clock = {
        ...systemClock,
        monotonic: () => systemClock.monotonic() + held,
        now: () => {
          const now = systemClock.now() + held + wall;
          held += hold;
          return now;
        },
      };
      await using own = await landingWorld({ home: world.home, clock });
      const busyFolders = (): readonly string[] => {
        hold = 50;
        return [];
      };
      assert.ok('landed' in (await own.run('rm kept', { busyFolders })));
      hold = 0;
      const { view } = await own.on('echo new > new');
      wall = -1000;
      const result = await own.land(view);
      assert.match('notLanded' in result ? result.notLanded : '', /the clock was set back/u);
    },
  'undo copies are removed when they are old': async (world) => {
    put(world, 'a', 'a');
    const id = await run(world, 'rm a');
    const pace = async () => {};
    assert.deepEqual(await world.landing.sweep({ before: 1, pace }), { removed: 0, bytes: 1 });
    assert.deepEqual(await world.landing.sweep({ before: Date.now() + 1, pace }), { removed: 1, bytes: 0 });
    assert.deepEqual(await world.landing.undo(id, never), {
      undone: false,
      reason: 'its undo copies are gone',
      changed: [],
    });
  },
};

const { signal: never } = new AbortController();
const COMMIT = 'git -c user.name=a -c user.email=a@example.org commit -q -m';

/** Longer than a tick of the clock that file systems use. */
const soon = async (): Promise<void> => await new Promise((resolve) => setTimeout(resolve, 20));
const at = (world: LandingWorld, name: string): string => join(world.workspace, name);
const read = (world: LandingWorld, name: string): string => readFileSync(at(world, name), 'utf8');
const has = (world: LandingWorld, name: string): boolean => existsSync(at(world, name));

function put(world: LandingWorld, name: string, text: string): void {
  mkdirSync(join(at(world, name), '..'), { recursive: true });
  writeFileSync(at(world, name), text);
}

function git(world: LandingWorld, command: string): string {
  const env = { PATH: process.env['PATH'], HOME: world.home, GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org' };
  const all = { ...env, GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.org' };
  const ran = spawnSync('sh', ['-c', `git ${command}`], { cwd: world.workspace, env: all, encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  return ran.stdout;
}

/** Runs a command that lands, and returns the landing's id. */
async function run(world: LandingWorld, command: string): Promise<string> {
  await soon();
  const result = await world.run(command);
  assert.ok('landed' in result, JSON.stringify(result));
  return result.landed.id ?? assert.fail('nothing has changed');
}

async function landed(world: LandingWorld, view: Parameters<LandingWorld['land']>[0]): Promise<void> {
  const result = await world.land(view);
  assert.ok('landed' in result, JSON.stringify(result));
}

async function refused(world: LandingWorld, view: Parameters<LandingWorld['land']>[0], why: RegExp): Promise<void> {
  const result = await world.land(view);
  assert.match('notLanded' in result ? result.notLanded : 'it landed', why);
  assert.ok('notLanded' in result);
}

async function changesOf(world: LandingWorld, command: string): Promise<Changes> {
  await soon();
  const { view, text, code } = await world.on(command);
  assert.equal(code, 0, text);
  let found: Changes | undefined;
  const judge = async (changes: Changes) => {
    found = changes;
    return { lands: false as const, reason: '' };
  };
  await world.land(view, { judge });
  return found ?? assert.fail('nothing has changed');
}

const WRITER =
  'import sqlite3; d = sqlite3.connect("db", timeout=10); d.execute("INSERT INTO t VALUES (0)"); d.commit(); d.close()';
const SERVER = `const { DatabaseSync } = require('node:sqlite');
const [mode, state] = process.argv.slice(1);
const db = new DatabaseSync('db');
db.exec('PRAGMA journal_mode=' + mode + '; CREATE TABLE t (n); INSERT INTO t VALUES (1)');
if (state === 'busy') setInterval(() => db.exec('INSERT INTO t VALUES (2)'), 2);
process.stdin.on('data', () => console.log(db.prepare('PRAGMA integrity_check').get().integrity_check));
process.stdin.on('end', () => process.exit());
console.log('ready');`;

async function sqliteServer(world: LandingWorld, mode: string, state: string) {
  const server = spawn(process.execPath, ['-e', SERVER, mode, state], { cwd: world.workspace });
  await once(server.stdout, 'data');
  await soon();
  return {
    async check(): Promise<string> {
      server.stdin.write('?');
      const [said] = (await once(server.stdout, 'data')) as [Buffer];
      return said.toString().trim();
    },
    async [Symbol.asyncDispose]() {
      server.stdin.end();
      await once(server, 'close');
    },
  };
}

/** Runs all cases below a folder and prints what failed as JSON. */
async function main(base: string, only: string | undefined): Promise<void> {
  const failures: Record<string, string> = {};
  const left = Object.entries(CASES).filter(([name]) => only === undefined || name.includes(only));
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [name, body] = next;
      try {
        await using world = await landingWorld({ base });
        await body(world);
      } catch (error) {
        failures[name] = error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error);
      }
    }
  };
  await Promise.all([work(), work(), work()]);
  process.stdout.write(JSON.stringify(failures));
}

const [, self, base, only] = process.argv;
if (self?.endsWith('landing-cases.ts') === true) await main(base ?? '', only);
