import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { ApprovalRequest } from '../../src/core/tools/tool.ts';
import { execWorld, type ExecWorld } from '../support/exec-world.ts';
import { processWorld } from '../support/process-world.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);
const THEIRS = { untrusted: true, private: true };
const PLANT = 'touch "$WITNESS"';
const ID = '-c user.name=a -c user.email=a@example.org';

/**
 * The owner's git, as a shell's prompt, an editor and a person use it, until the witness is there; nothing of the machine's
 * own settings.
 */
async function ownersGit(folder: string, witness: string): Promise<void> {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', WITNESS: witness, TERM: 'xterm' };
  const uses = ['status', 'diff', 'fetch --all', 'add -A', 'commit --allow-empty -m x', 'checkout -q -f HEAD', 'stash'];
  // A pager is for terminals.
  await run('script', ['-qec', 'git log', '/dev/null'], { cwd: folder, env }).catch(() => {});
  const steps = uses.map((use) => `[ -e "$WITNESS" ] || git ${ID} ${use}`);
  await run('sh', ['-c', steps.join('\n')], { cwd: folder, env }).catch(() => {});
}

describeWith('bubblewrap')('commands and the git of the owner', () => {
  let world: ExecWorld;
  let asked: ApprovalRequest[] = [];
  let says = false;
  let witness = '';
  let original = '';

  beforeAll(async () => {
    world = await execWorld('auto', {
      taint: THEIRS,
      approve: async (request) => {
        asked.push(request);
        return says ? { approved: true } : { approved: false, reason: 'no' };
      },
    });
    witness = join(world.home, 'witness');
    original = join(world.home, 'original');
    await run('sh', [
      '-c',
      `git init -q ${original} && cd ${original} && echo a > a && git add a && git ${ID} commit -q -m a`,
    ]);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  beforeEach(async () => {
    asked = [];
    says = false;
    await rm(witness, { force: true });
    await rm(join(world.workspace, 'repo'), { recursive: true, force: true });
    await cp(original, join(world.workspace, 'repo'), { recursive: true });
  });

  const isPlanted = async (folder = 'repo'): Promise<boolean> => {
    await ownersGit(join(world.workspace, folder), witness);
    return await lstat(witness).then(
      () => true,
      () => false,
    );
  };

  test.each([
    ['a monitor', `cd repo && git config core.fsmonitor '${PLANT}; true'`, 'repo'],
    [
      'a hook',
      `printf '#!/bin/sh\n${PLANT}\n' > repo/.git/hooks/pre-commit; chmod +x repo/.git/hooks/pre-commit`,
      'repo',
    ],
    [
      'hooks elsewhere',
      `mkdir repo/h && printf '#!/bin/sh\n${PLANT}\n' > repo/h/post-checkout && chmod +x repo/h/* && git -C repo config core.hooksPath h`,
      'repo',
    ],
    [
      'hooks behind a link',
      `mkdir repo/h && printf '#!/bin/sh\n${PLANT}\n' > repo/h/pre-commit && chmod +x repo/h/*; rm -r repo/.git/hooks; ln -s ../h repo/.git/hooks`,
      'repo',
    ],
    ['a pager', `git -C repo config core.pager '${PLANT}; cat'`, 'repo'],
    ['a pager of one command', `git -C repo config pager.log '${PLANT}; cat'`, 'repo'],
    [
      'a filter',
      `cd repo && git config filter.x.clean '${PLANT}; cat' && echo '* filter=x' > .gitattributes && echo b > b`,
      'repo',
    ],
    [
      'a reader of differences',
      `cd repo && git config diff.x.textconv '${PLANT}; cat' && echo '* diff=x' > .gitattributes && echo b > a`,
      'repo',
    ],
    [
      'a command for ssh',
      `cd repo && git config core.sshCommand '${PLANT}; false' && git remote add o ssh://example.com/x`,
      'repo',
    ],
    [
      'a program on the other side',
      `cd repo && git remote add o /tmp && git config remote.o.uploadpack '${PLANT}; false'`,
      'repo',
    ],
    [
      'settings in another file',
      `cd repo && printf '[core]\n\tfsmonitor = ${PLANT.replaceAll('"', '\\\\"')}; true\n' > x && git config include.path ../x`,
      'repo',
    ],
    [
      'settings of a work tree',
      `cd repo && git config extensions.worktreeConfig true && git config --worktree core.fsmonitor '${PLANT}; true'`,
      'repo',
    ],
    [
      'a spelling of its own',
      `cd repo && printf '[CORE]FsMonitor="${PLANT.replaceAll('"', '\\\\"')}\\\n; true" # x\n' >> .git/config`,
      'repo',
    ],
    ['a new repository', `git init -q new && git -C new config core.fsmonitor '${PLANT}; true'`, 'new'],
    ['a copy of a repository', `cp -r repo new && git -C new config core.fsmonitor '${PLANT}; true'`, 'new'],
    [
      'a bare repository',
      `git init -q --bare new && git -C new config core.fsmonitor '${PLANT}; true' && git -C new config core.bare false && git -C new config core.worktree .`,
      'new',
    ],
    [
      'a bare repository whose files lie elsewhere',
      `cp -r repo/.git kept && mkdir new && mv kept/HEAD new && echo "$PWD/kept" > new/commondir && git config --file kept/config core.pager '${PLANT}; cat'`,
      'new',
    ],
    [
      'a file that leads elsewhere',
      `cp -r repo/.git kept && git --git-dir kept config core.fsmonitor '${PLANT}; true' && rm -rf repo/.git && echo "gitdir: $PWD/kept" > repo/.git`,
      'repo',
    ],
    [
      'a link that leads elsewhere',
      `cp -r repo/.git kept && git --git-dir kept config core.fsmonitor '${PLANT}; true' && rm -rf repo/.git && ln -s "$PWD/kept" repo/.git`,
      'repo',
    ],
    ['a work tree', `cd repo && git worktree add -q ../new && git config core.fsmonitor '${PLANT}; true'`, 'new'],
    [
      'a renamed folder',
      `cp -r repo/.git kept && git --git-dir kept config core.fsmonitor '${PLANT}; true' && rm -rf repo/.git && mv kept repo/.git`,
      'repo',
    ],
  ])('%s is undone, and the owner is asked', async (_name, command, folder) => {
    await rm(join(world.workspace, 'new'), { recursive: true, force: true });
    await rm(join(world.workspace, 'kept'), { recursive: true, force: true });
    const { output } = await world.run(command);
    expect(output).toContain('was undone');
    expect(asked.map(({ title }) => title)).toEqual(['Let git run what a command wrote']);
    expect(await isPlanted(folder)).toBe(false);
    // With a yes it does what it was made for, so what was undone was no idle setting.
    says = true;
    for (const name of ['new', 'kept', 'repo']) await rm(join(world.workspace, name), { recursive: true, force: true });
    await cp(original, join(world.workspace, 'repo'), { recursive: true });
    await world.run(command);
    expect(await isPlanted(folder)).toBe(true);
    for (const name of ['new', 'kept']) await rm(join(world.workspace, name), { recursive: true, force: true });
  });

  test('after a yes it is there as the command left it, and is not asked about again', async () => {
    says = true;
    const command = `cd repo && git config core.fsmonitor '${PLANT}; true' && git config user.name me`;
    const { output } = await world.run(command);
    expect(output).toContain('The owner was asked and allowed');
    expect(asked[0]?.detail).toBe(`repo/.git/config: core.fsmonitor = ${PLANT}; true`);
    expect(await isPlanted()).toBe(true);
    await world.run('cd repo && git config user.name you');
    expect(asked).toHaveLength(1);
  });

  test('a hook is shown whole, and only what is new of one that was there is undone', async () => {
    const hook = join(world.workspace, 'repo/.git/hooks/pre-commit');
    await mkdir(join(hook, '..'), { recursive: true });
    await writeFile(hook, '#!/bin/sh\nexit 0\n');
    await chmod(hook, 0o755);
    await world.run('echo "touch x" >> repo/.git/hooks/pre-commit');
    expect(asked[0]?.detail).toBe('repo/.git/hooks/pre-commit: #!/bin/sh\nexit 0\ntouch x\n');
    expect(await readFile(hook, 'utf8')).toBe('#!/bin/sh\nexit 0\n');
    expect((await lstat(hook)).mode & 0o777).toBe(0o755);
  });

  test('what else it set in a new repository stays', async () => {
    await world.run(`git clone -q repo new && git -C new config core.pager evil && git -C new config user.name me`);
    const config = await readFile(join(world.workspace, 'new/.git/config'), 'utf8');
    expect(config).toContain('[remote "origin"]');
    expect(config).toContain('name = me');
    expect(config).not.toContain('evil');
    await rm(join(world.workspace, 'new'), { recursive: true, force: true });
  });

  test.each([
    ['objects', 'mkdir refs; echo ref: refs/heads/main > HEAD'],
    ['refs', 'mkdir objects; echo ref: refs/heads/main > HEAD'],
    ['a HEAD', 'mkdir objects refs'],
  ])('a folder without %s is no repository, so its settings are nobody’s', async (_what, made) => {
    const settings = '[core]\n\tpager = mine\n';
    await world.run(`rm -rf new; mkdir new; cd new; ${made}; printf '${settings}' > config`);
    expect(await readFile(join(world.workspace, 'new/config'), 'utf8')).toBe(settings);
    expect(asked).toEqual([]);
    await rm(join(world.workspace, 'new'), { recursive: true, force: true });
  });

  test.each([
    ['core.worktree', '../../..'],
    ['core.worktree', '../../../fakehome'],
    ['core.worktree', '/tmp'],
    ['core.worktree', '~/x'],
    ['core.worktree', '../../out'],
    ['core.worktree', '../../out/new/deeper'],
    ['core.worktree', '../../dangling'],
    ['core.worktree', '../../dangling/deeper'],
    ['core.worktree', '../../out/../etc'],
    ['core.worktree', '../../way/../../elsewhere'],
    ['remote.o.url', 'way/../../elsewhere'],
    ['remote.o.url', 'inner/out'],
    ['remote.o.pushurl', 'a/../../../elsewhere'],
    ['branch.master.remote', 'inner/out'],
    ['core.excludesfile', '../../x'],
    ['remote.o.url', '../../elsewhere'],
    ['remote.o.pushurl', 'file:///tmp/elsewhere'],
    ['submodule.s.url', '../../elsewhere'],
    ['branch.master.remote', '../../elsewhere'],
    ['branch.master.pushremote', '/tmp/elsewhere'],
    ['remote.pushdefault', './../../elsewhere'],
  ])('%s = %s leads git out of the workspace, so it is undone and the owner is asked', async (key, place) => {
    const links =
      'ln -sfn /tmp out; ln -sfn /nowhere/at/all dangling; mkdir -p a; ln -sfn a way; mkdir -p repo/inner; ln -sfn /tmp repo/inner/out; ln -sfn ../a repo/way';
    const { output } = await world.run(`${links}; cd repo && git config ${key} '${place}'`);
    expect(output).toContain('was undone');
    expect(asked.map(({ title }) => title)).toEqual(['Let git run what a command wrote']);
    expect(await readFile(join(world.workspace, 'repo/.git/config'), 'utf8')).not.toContain(place);
    for (const name of ['out', 'dangling', 'way', 'a'])
      await rm(join(world.workspace, name), { force: true, recursive: true });
  });

  test.each([
    ['remotes', 'URL: ../../elsewhere', true],
    ['remotes', 'Push: HEAD:refs/heads/x\\nURL:/tmp/elsewhere', true],
    ['remotes', 'URL: https://example.com/x.git\\nURL: file:///tmp/elsewhere', true],
    ['branches', '../../elsewhere#main', true],
    ['branches', '/tmp/elsewhere', true],
    ['remotes', 'URL: https://example.com/../x.git\\nURL: ../other', false],
    ['branches', 'https://example.com/x.git#main', false],
  ])('a remote in the folder .git/%s with %s: undone if it leads git out: %s', async (folder, text, leadsOut) => {
    const made = `mkdir -p repo/.git/${folder}; printf '${text}\\n' > repo/.git/${folder}/x`;
    const { output } = await world.run(made);
    expect(output.includes('was undone')).toBe(leadsOut);
    expect(asked.map(({ title }) => title)).toEqual(leadsOut ? ['Let git run what a command wrote'] : []);
    expect(existsSync(join(world.workspace, 'repo/.git', folder, 'x'))).toBe(!leadsOut);
  });

  test.each(['logs/HEAD', 'index', 'FETCH_HEAD', 'refs/heads', 'logs/refs/heads/deep'])(
    'a link at .git/%s through which git would write elsewhere is undone, and the owner is asked',
    async (place) => {
      for (const [target, name] of [
        [witness, 'outside'],
        [join(world.workspace, 'AGENTS.md'), 'AGENTS.md'],
      ] as const) {
        asked = [];
        const made = `cd repo/.git && mkdir -p $(dirname ${place}) && rm -rf ${place} && ln -s ${target} ${place}`;
        expect((await world.run(made)).output, name).toContain('was undone');
        expect(asked.map(({ title }) => title)).toEqual(['Let git run what a command wrote']);
        await ownersGit(join(world.workspace, 'repo'), join(world.home, 'nothing'));
        expect(await readFile(target, 'utf8').catch(() => '')).toBe('');
      }
    },
  );

  test.each([
    ['core.worktree', '..'],
    ['core.worktree', '../../new'],
    ['remote.o.url', '../other'],
    ['remote.o.url', 'git@example.com:../x.git'],
    ['remote.o.url', 'https://example.com/../x.git'],
    ['branch.master.remote', '.'],
    ['branch.master.remote', 'origin'],
    ['remote.o.url', 'host:elsewhere/../../x'],
    ['remote.o.url', 'a/b'],
  ])('%s = %s stays in the workspace, so nobody is asked', async (key, place) => {
    await world.run(`cd repo && git config ${key} '${place}'`);
    expect(asked).toEqual([]);
    expect(await readFile(join(world.workspace, 'repo/.git/config'), 'utf8')).toContain(place);
  });

  test('ordinary work asks nothing and loses nothing', async () => {
    const { output, isError } = await world.run(
      [
        'set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c',
        'git clone -q repo new; cd new; git checkout -q -b work; echo b > b; git add b; git commit -q -m b',
        'git remote add other ../repo; git fetch -q other; git checkout -q -b theirs --track origin/master; git config user.name me',
        'git config pull.rebase true; git config core.editor vim; git worktree add -q ../tree; git stash -q || true; git tag v1',
        'git -c protocol.file.allow=always submodule --quiet add ../repo sub; git commit -q -m sub; git branch --set-upstream-to=origin/master work',
        'git init -q --bare ../bare; git push -q ../bare work; git sparse-checkout init --cone; git -C ../tree status --short; git gc -q',
      ].join('\n'),
    );
    expect(isError === true ? output : '').toBe('');
    expect(asked).toEqual([]);
    for (const name of ['new', 'tree', 'bare']) await rm(join(world.workspace, name), { recursive: true, force: true });
  });

  test('without text of strangers nothing is undone', async () => {
    await using own = await execWorld('auto');
    await own.run(`git init -q r && git -C r config core.pager mine`);
    expect(await readFile(join(own.workspace, 'r/.git/config'), 'utf8')).toContain('pager = mine');
  });

  test('it is undone while the command still runs', async () => {
    const config = join(world.workspace, 'repo/.git/config');
    const { output } = await world.run(
      `git -C repo config core.pager evil; for i in $(seq 100); do grep -q evil repo/.git/config || { echo gone; break; }; sleep 0.2; done`,
    );
    expect(output).toContain('gone');
    expect(await readFile(config, 'utf8')).not.toContain('evil');
  });

  test('it is undone when the command is stopped', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('stopped')), 1_500);
    await world.run('git -C repo config core.pager evil; sleep 20', {}, stop.signal).catch(() => {});
    expect(await readFile(join(world.workspace, 'repo/.git/config'), 'utf8')).not.toContain('evil');
  });

  test.each([
    ['started among', THEIRS, 'sleep 0.5; git -C repo config core.pager evil; cat'],
    [
      'told something among',
      { untrusted: false, private: false },
      'read -r line; git -C repo config core.pager "$line"; cat',
    ],
  ])('a command in the background, %s text from strangers, plants nothing', async (_how, taint, command) => {
    const { sandbox, workspace, home } = world;
    await using inside = await processWorld({ exec: { mode: 'auto', sandbox, workspace, home } });
    const config = (): Promise<string> => readFile(join(workspace, 'repo/.git/config'), 'utf8');
    const started = await inside.start(command, {}, { taint });
    const id = String(started.metadata['process']);
    await inside.call({ action: 'write', id, text: 'evil' }, { taint: THEIRS });
    await waitFor(async () => (await config()).includes('evil'));
    await waitFor(async () => !(await config()).includes('evil'));
    await inside.call({ action: 'close', id }, { taint: THEIRS });
    const { output } = await inside.call({ action: 'kill', id }, { taint: THEIRS });
    expect(output).toContain('repo/.git/config would make git run a program');
  });
});
