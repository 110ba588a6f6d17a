import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PLANT, ID, isThere, judged, ownersGit, withRepository } from '../support/git-judge.ts';
import { tempFolder } from '../support/temp.ts';

const HOOK = `#!/bin/sh\\n${PLANT}\\n`;
const MONITOR = `core.fsmonitor '${PLANT}; true'`;
const hookIn = (folder: string, name = 'pre-commit'): string =>
  `mkdir -p ${folder} && printf '${HOOK}' > ${folder}/${name} && chmod +x ${folder}/${name}`;
const shellQuoted = PLANT.replaceAll('"', '\\\\"');

/** What a command plants, and the folder in which the owner's git then runs it. */
const PLANTED: Readonly<Record<string, readonly [command: string, folder?: string]>> = {
  'a monitor': [`git -C repo config ${MONITOR}`],
  'a hook': [hookIn('repo/.git/hooks')],
  'a hook that was there and could not be run': [
    `chmod +x repo/.git/hooks/idle; mv repo/.git/hooks/idle repo/.git/hooks/pre-commit`,
  ],
  'hooks elsewhere': [`${hookIn('repo/h', 'post-checkout')} && git -C repo config core.hooksPath h`],
  'hooks behind a link': [`${hookIn('repo/h')}; rm -r repo/.git/hooks; ln -s ../h repo/.git/hooks`],
  'a hook behind a link': [
    `printf '${HOOK}' > x && chmod +x x; mkdir -p repo/.git/hooks; ln -s ../../../x repo/.git/hooks/pre-commit`,
  ],
  'a pager': [`git -C repo config core.pager '${PLANT}; cat'`],
  'a pager of one command': [`git -C repo config pager.log '${PLANT}; cat'`],
  'a filter': [
    `cd repo && git config filter.x.clean '${PLANT}; cat' && echo '* filter=x' > .gitattributes && echo b > b`,
  ],
  'a reader of differences': [
    `cd repo && git config diff.x.textconv '${PLANT}; cat' && echo '* diff=x' > .gitattributes && echo b > a`,
  ],
  'a command for ssh': [
    `cd repo && git config core.sshCommand '${PLANT}; false' && git remote add o ssh://example.com/x`,
  ],
  'a program on the other side': [
    `cd repo && git remote add o /tmp && git config remote.o.uploadpack '${PLANT}; false'`,
  ],
  'settings in another file': [
    `cd repo && printf '[core]\\n\\tfsmonitor = ${shellQuoted}; true\\n' > x && git config include.path ../x`,
  ],
  'settings of a work tree': [
    `cd repo && git config extensions.worktreeConfig true && git config --worktree ${MONITOR}`,
  ],
  'a spelling of its own': [`printf '[CORE]FsMonitor="${shellQuoted}\\\\\\n; true" # x\\n' >> repo/.git/config`],
  'a new repository': [`git init -q new && git -C new config ${MONITOR}`, 'new'],
  'a copy of a repository': [`cp -r repo new && git -C new config ${MONITOR}`, 'new'],
  'a bare repository': [
    `git init -q --bare new && git -C new config ${MONITOR} && git -C new config core.bare false && git -C new config core.worktree .`,
    'new',
  ],
  'a bare repository whose files lie elsewhere': [
    `cp -r repo/.git kept && mkdir new && mv kept/HEAD new && echo "$PWD/kept" > new/commondir && git config --file kept/config core.pager '${PLANT}; cat'`,
    'new',
  ],
  'a repository in a folder named like a store of objects': [
    `mkdir -p new/objects && git init -q new/objects/3d && git -C new/objects/3d config ${MONITOR}`,
    'new/objects/3d',
  ],
  'a repository among the objects of another': [
    `git init -q repo/.git/objects/info && git -C repo/.git/objects/info config ${MONITOR}`,
    'repo/.git/objects/info',
  ],
  'a file that leads elsewhere': [
    `cp -r repo/.git kept && git --git-dir kept config ${MONITOR} && rm -rf repo/.git && echo "gitdir: $PWD/kept" > repo/.git`,
  ],
  'a link that leads elsewhere': [
    `cp -r repo/.git kept && git --git-dir kept config ${MONITOR} && rm -rf repo/.git && ln -s "$PWD/kept" repo/.git`,
  ],
  'a work tree': [`cd repo && git worktree add -q ../new && git config ${MONITOR}`, 'new'],
  'a renamed folder': [
    `cp -r repo/.git kept && git --git-dir kept config ${MONITOR} && rm -rf repo/.git && mv kept repo/.git`,
  ],
  'S7 a name that is not UTF-8': [
    `cd repo && git config ${MONITOR} && mv .git $'../\\377x' && printf 'gitdir: ../\\377x' > .git`,
  ],
  'S7 a common folder that is not UTF-8': [
    `git -C repo config ${MONITOR} && cp -r repo/.git $'k\\377' && rm -rf repo && git init -q repo && printf '../../k\\377' > repo/.git/commondir`,
  ],
  'S7 a repository below a name that is not UTF-8': [
    `cp -r repo $'pro\\377j' && git -C $'pro\\377j' config ${MONITOR} && ln -s $'pro\\377j' new`,
    'new',
  ],
  'S7 a link to a name that is not UTF-8': [
    `mkdir $'p\\377' && cp -r repo $'p\\377/repo' && git -C $'p\\377/repo' config ${MONITOR} && ln -s $'p\\377/repo' new`,
    'new',
  ],
  'S7 a bare repository whose name is not UTF-8': [
    `git init -q --bare $'b\\377' && git -C $'b\\377' config core.pager '${PLANT}; cat' && cp -r repo/.git/objects repo/.git/refs $'b\\377' && ln -s $'b\\377' new`,
    'new',
  ],
  'S7 hooks whose folder is not UTF-8': [`${hookIn(`repo/$'h\\377'`)} && git -C repo config core.hooksPath $'h\\377'`],
  'S7 settings in a file that is not UTF-8': [
    `cd repo && printf '[core]\\n\\tfsmonitor = ${shellQuoted}; true\\n' > $'x\\377' && git config include.path $'../x\\377'`,
  ],
  'S7 a work tree that is not UTF-8': [
    `cd repo && git worktree add -q $'../t\\377' && git config ${MONITOR} && ln -s $'t\\377' ../new`,
    'new',
  ],
  'S7 a submodule that is not UTF-8': [
    `cp -r repo/.git $'m\\377' && mv $'m\\377' repo/.git && mkdir repo/sub && printf 'gitdir: ../.git/m\\377\\n' > repo/sub/.git && git -C repo/sub config ${MONITOR}`,
    'repo/sub',
  ],
  'S7 a value that is not UTF-8': [`git -C repo config core.fsmonitor '${PLANT}; true '$'\\377'`],
  'S7 a name of two bytes that are one character elsewhere': [
    `cp -r repo $'\\303\\244\\377' && git -C $'\\303\\244\\377' config ${MONITOR} && ln -s $'\\303\\244\\377' new`,
    'new',
  ],
  'S7 a link to .git that is not UTF-8': [
    `cp -r repo/.git $'l\\377' && git --git-dir $'l\\377' config ${MONITOR} && rm -rf repo/.git && ln -s $'../l\\377' repo/.git`,
  ],
  'S7 a nested folder of names that are not UTF-8': [
    `mkdir -p $'\\376/\\377' && cp -r repo $'\\376/\\377/r' && git -C $'\\376/\\377/r' config ${MONITOR} && ln -s $'\\376/\\377/r' new`,
    'new',
  ],
  'S7 a hook whose link is not UTF-8': [
    `printf '${HOOK}' > $'x\\377' && chmod +x $'x\\377' && mkdir -p repo/.git/hooks && ln -s $'../../../x\\377' repo/.git/hooks/pre-commit`,
  ],
  'what a rebase that waits will run': [
    `cd repo && git ${ID} commit -q --allow-empty -m b && git ${ID} -c sequence.editor='sed -i "1s/^pick/edit/"' rebase -q -i --root 2>/dev/null; printf 'exec touch "$WITNESS"\\n' > .git/rebase-merge/git-rebase-todo; git config alias.status '!true'`,
  ],
};

describe('what a command leaves for the owner’s git to run is a finding', () => {
  test.each(Object.entries(PLANTED))('%s', async (name, [command, folder = 'repo']) => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    await mkdir(join(workspace, 'repo/.git/hooks'), { recursive: true });
    await writeFile(join(workspace, 'repo/.git/hooks/idle'), `#!/bin/sh\n${PLANT}\n`, { mode: 0o644 });
    expect(await judged(workspace, command)).not.toEqual([]);
    // It does what it was made for, so the finding is no idle one.
    const witness = join(home.path, 'witness');
    await ownersGit(join(workspace, folder), witness);
    if (!name.includes('rebase')) expect(await isThere(witness)).toBe(true);
  });
});

describe('a repository that several commands assemble', () => {
  test.each([
    ['its HEAD last', 'mv new/HEAD head', 'mv head new/HEAD'],
    ['its objects last', 'mv new/objects o', 'mv o new/objects'],
    ['its references last', 'mv new/refs r', 'mv r new/refs'],
    [
      'its file that leads there last',
      'mv new/HEAD head; mkdir n',
      'mv head new/HEAD; printf "gitdir: ../new" > n/.git',
    ],
    ['its place last', 'mv new/HEAD head', 'mv head new/HEAD; mkdir n; mv new n/.git'],
  ])('is found with %s', async (_what, before, after) => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    const made = `git init -q --bare new && git -C new config core.pager evil`;
    expect(await judged(workspace, `${made}; ${before}`)).toEqual([]);
    expect(await judged(workspace, after)).not.toEqual([]);
  });
});

test.each([
  ['include.path', '../../shared', '[core]\n\tpager = evil\n'],
  ['includeIf.gitdir:~/.path', '../../shared', '[core]\n\tpager = evil\n'],
  ['core.hooksPath', '../scripts', ''],
  ['filter.x.clean', './clean.sh', ''],
  ['core.sshCommand', 'sh ../scripts/pre-commit -o x', ''],
])('a file that the owner’s own setting %s = %s leads to is a finding when it changes', async (key, value, text) => {
  await using home = await tempFolder();
  const workspace = await withRepository(home.path);
  const set = `mkdir scripts; printf '#!/bin/sh\\n' > scripts/pre-commit; chmod +x scripts/pre-commit; touch shared repo/clean.sh; git -C repo config ${key} '${value}'`;
  await judged(workspace, set);
  expect(await judged(workspace, 'echo b > repo/b')).toEqual([]);
  const change = text === '' ? 'echo evil | tee -a scripts/pre-commit repo/clean.sh' : `printf '${text}' > shared`;
  expect(await judged(workspace, change)).not.toEqual([]);
});

describe('a place that leads git out of the workspace is a finding', () => {
  const LINKS =
    'ln -sfn /tmp out; ln -sfn /nowhere/at/all dangling; mkdir -p a; ln -sfn a way; mkdir -p repo/inner; ln -sfn /tmp repo/inner/out; ln -sfn ../a repo/way';
  test.each([
    ['core.worktree', '../../..'],
    ['core.worktree', '../../../fakehome'],
    ['core.worktree', '/tmp'],
    ['core.worktree', '/proc/self/cwd'],
    ['core.worktree', '~/x'],
    ['core.worktree', '../../out'],
    ['core.worktree', '../../out/new/deeper'],
    ['core.worktree', '../../dangling'],
    ['core.worktree', '../../dangling/deeper'],
    ['core.worktree', '../../out/../etc'],
    ['core.worktree', '../../way/../../elsewhere'],
    ['remote.o.url', 'way/../../elsewhere'],
    ['remote.o.url', 'inner/out'],
    ['remote.o.url', 'ext::sh -c "touch x"'],
    ['remote.o.pushurl', 'a/../../../elsewhere'],
    ['branch.master.remote', 'inner/out'],
    ['core.excludesfile', '../../x'],
    ['remote.o.url', '../../elsewhere'],
    ['remote.o.pushurl', 'file:///tmp/elsewhere'],
    ['remote.o.pushurl', 'file:///tmp/%65lsewhere'],
    ['submodule.s.url', '../../elsewhere'],
    ['branch.master.remote', '../../elsewhere'],
    ['branch.master.pushremote', '/tmp/elsewhere'],
    ['remote.pushdefault', './../../elsewhere'],
  ])('%s = %s', async (key, place) => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    const findings = await judged(workspace, `${LINKS}; cd repo && git config ${key} '${place}'`);
    expect(findings).toEqual([{ path: 'repo/.git/config', what: `${key.toLowerCase()} = ${place}` }]);
  });

  test.each([
    ['remotes/x', 'URL: ../../elsewhere'],
    ['remotes/x', 'Push: HEAD:refs/heads/x\\nURL:/tmp/elsewhere'],
    ['remotes/x', 'URL: https://example.com/x.git\\nURL: file:///tmp/elsewhere'],
    ['branches/x', '../../elsewhere#main'],
    ['branches/x', '/tmp/elsewhere'],
    ['worktrees/x/gitdir', '/tmp/elsewhere/.git'],
    ['objects/info/alternates', '/tmp/elsewhere'],
    ['commondir', '/tmp/elsewhere'],
  ])('.git/%s with %s', async (path, text) => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    const made = `mkdir -p "$(dirname repo/.git/${path})"; printf '${text}\\n' > repo/.git/${path}`;
    expect((await judged(workspace, made)).map((one) => one.path)).toEqual([`repo/.git/${path}`]);
  });

  test.each(['logs/HEAD', 'index', 'FETCH_HEAD', 'refs/heads', 'logs/refs/heads/deep'])(
    'a link at .git/%s',
    async (place) => {
      await using home = await tempFolder();
      const workspace = await withRepository(home.path);
      for (const target of ['/tmp/elsewhere', join(workspace, 'AGENTS.md')]) {
        const made = `cd repo/.git && mkdir -p $(dirname ${place}) && rm -rf ${place} && ln -s ${target} ${place}`;
        expect(await judged(workspace, made)).toEqual([{ path: `repo/.git/${place}`, what: `leads git to ${target}` }]);
      }
    },
  );

  test.each([
    ['that is made a link later', 'true', 'true'],
    ['of which a folder becomes a link', 'mkdir ../new', 'rmdir new'],
  ])('a work tree %s', async (_what, before, after) => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    expect(await judged(workspace, `cd repo && ${before}; git config core.worktree ../../new`)).toEqual([]);
    expect(await judged(workspace, `${after}; ln -s /tmp new`)).toEqual([
      { path: 'repo/.git/config', what: 'core.worktree = ../../new' },
    ]);
  });
});

describe('nothing is found', () => {
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
  ])('in %s = %s, which stays in the workspace', async (key, place) => {
    await using home = await tempFolder();
    expect(await judged(await withRepository(home.path), `cd repo && git config ${key} '${place}'`)).toEqual([]);
  });

  test.each(['objects', 'refs', 'HEAD'])('in a folder without %s, which is no repository', async (missing) => {
    await using home = await tempFolder();
    const command = `git init -q --bare new; git -C new config core.pager mine; rm -r new/${missing}`;
    expect(await judged(await withRepository(home.path), command)).toEqual([]);
  });

  test('in what was there before, whoever wrote it', async () => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    await judged(workspace, `git -C repo config core.pager mine; ${hookIn('repo/.git/hooks')}`);
    expect(
      await judged(workspace, 'cd repo; git config user.name me; echo b > b; touch .git/hooks/pre-commit'),
    ).toEqual([]);
    expect(await judged(workspace, 'echo "# more" >> repo/.git/hooks/pre-commit')).toEqual([
      { path: 'repo/.git/hooks/pre-commit', what: `#!/bin/sh\n${PLANT}\n# more\n` },
    ]);
  });

  test('in ordinary work', async () => {
    await using home = await tempFolder();
    const findings = await judged(
      await withRepository(home.path),
      [
        'set -e; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c',
        'git clone -q repo new; cd new; git checkout -q -b work; echo b > b; git add b; git commit -q -m b',
        'git remote add other ../repo; git fetch -q other; git checkout -q -b theirs --track origin/master; git config user.name me',
        'git config pull.rebase true; git config core.editor vim; git worktree add -q ../tree; git stash -q || true; git tag v1',
        'git -c protocol.file.allow=always submodule --quiet add ../repo sub; git commit -q -m sub; git branch --set-upstream-to=origin/master work',
        'git init -q --bare ../bare; git push -q -u ../bare work; git sparse-checkout init --cone; git -C ../tree status --short; git gc -q',
      ].join('\n'),
    );
    expect(findings).toEqual([]);
  });
});

describe('what cannot be looked at is a finding', () => {
  test('settings that are too long, also when they change without a change of their length', async () => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    const long = (letter: string): string => `head -c 2000000 /dev/zero | tr '\\0' ${letter} > repo/.git/config`;
    expect(await judged(workspace, long("'#'"))).toHaveLength(1);
    expect(await judged(workspace, 'echo b > repo/b')).toEqual([]);
    expect(await judged(workspace, long("';'"))).toHaveLength(1);
  });

  test('settings that git cannot read either', async () => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    expect(await judged(workspace, 'printf "[core" > repo/.git/config')).toEqual([
      { path: 'repo/.git/config', what: "can't be understood: [core" },
    ]);
  });

  test.skipIf(process.getuid?.() === 0)('a folder that cannot be listed', async () => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    const command = `cp -r repo copy; git -C copy config core.fsmonitor evil; chmod 0311 copy`;
    expect((await judged(workspace, command)).map(({ path }) => path)).toEqual(['copy']);
  });

  test('links in a circle', async () => {
    await using home = await tempFolder();
    const workspace = await withRepository(home.path);
    const findings = await judged(workspace, 'rm -rf repo/.git; ln -s b a; ln -s a b; ln -s ../a repo/.git');
    expect(findings.map(({ path }) => path)).toEqual(['repo/.git']);
  });
});

test('a judgement ends when it is aborted', async () => {
  await using home = await tempFolder();
  const workspace = await withRepository(home.path);
  const stop = AbortSignal.abort(new Error('stopped'));
  await expect(judged(workspace, 'git -C repo config core.pager evil', stop)).rejects.toThrow('stopped');
  expect(await readFile(join(workspace, 'repo/.git/config'), 'utf8')).toContain('evil');
  await rm(workspace, { recursive: true });
});
