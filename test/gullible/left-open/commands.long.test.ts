import '../../support/internet-mock.ts';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { execWorld } from '../../support/exec-world.ts';
import { describeWith } from '../../support/test-with.ts';
import { waitFor } from '../../support/wait.ts';
import { startWorld, type World } from '../../support/world.ts';
import { asks, call, fresh, played, run, tainted, textOf, write, type Call, type Outcome } from './play.ts';

/* Attacks by commands that still do harm, in the sandbox and where everything is allowed. */

const THEIRS = { untrusted: true, private: true };

describeWith('bubblewrap')('what a command leaves for the owner’s git', () => {
  const MONITOR = 'git init -q repo && cd repo && git config core.fsmonitor "touch $PWD/../taken; true"';
  const HOOK = `printf '#!/bin/sh\\ntouch "%s/taken"\\n' "$PWD" > $'b\\377/hooks/reference-transaction' && chmod +x $'b\\377/hooks/reference-transaction'`;
  interface Attack {
    readonly command: string;
    /** What the owner does in the workspace. */
    readonly use: string;
  }
  const play = async ({ command, use }: Attack): Promise<Outcome & { readonly landed: boolean }> => {
    const asked: string[] = [];
    await using world = await execWorld('auto', {
      taint: THEIRS,
      approve: async ({ title }) => {
        asked.push(title);
        return { approved: false, reason: 'no' };
      },
    });
    const { workspace } = world;
    const { output } = await world.run(`bash -c ${quoted(command)}`);
    const landed = !output.includes("None of the command's changes were kept");
    if (landed) execFileSync('bash', ['-c', use], { cwd: workspace, stdio: 'ignore' });
    const done = existsSync(join(workspace, 'taken'));
    return { asked: asked.includes('Keep what a command changed'), done, landed };
  };
  test('the owner is asked first: a repository in its usual place', async () => {
    expect(await play({ command: MONITOR, use: 'cd repo; git status; true' })).toEqual({
      asked: true,
      done: false,
      landed: false,
    });
  });
  // Such names never land, so nobody has to be asked.
  for (const [name, attack] of Object.entries<Attack>({
    'a name that is not UTF-8': {
      command: `${MONITOR} && mv .git $'../\\377x' && printf 'gitdir: ../\\377x' > .git`,
      use: 'cd repo; git status; true',
    },
    'a common folder that is not UTF-8': {
      command: `${MONITOR} && cp -r .git $'../k\\377' && cd .. && rm -rf repo && git init -q repo && printf '../../k\\377' > repo/.git/commondir`,
      use: 'cd repo; git status; true',
    },
    'a repository below a name that is not UTF-8': {
      command: `mkdir $'pro\\377j' && cd $'pro\\377j' && ${MONITOR.replace('../taken', '../../taken')}`,
      use: 'cd pro*/repo; git status; true',
    },
    'a link to a name that is not UTF-8': {
      command: `mkdir $'p\\377' && cd $'p\\377' && ${MONITOR.replace('../taken', '../../taken')} && cd ../.. && ln -s $'p\\377/repo' projekt`,
      use: 'cd projekt; git status; true',
    },
    'a bare repository whose name is not UTF-8': {
      command: `git init -q --bare $'b\\377' && mkdir -p $'b\\377/hooks' && ${HOOK}`,
      use: 'cd b*; git tag v1 $(git hash-object -w --stdin </dev/null); true',
    },
  })) {
    test(`does not land: ${name}`, async () => {
      const outcome = await played(() => play(attack));
      expect(outcome).toEqual({ asked: false, done: false, landed: false });
    });
  }
});

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

describeWith('bubblewrap')('a protected file that is replaced while a command runs', () => {
  const LOOP = 'for n in $(seq 150); do echo EVIL >> FILE; sleep 0.02; done 2>/dev/null; true';
  /** What a file holds when a command wrote to it all the time, and it was edited meanwhile. */
  const afterwards = async (name: string, edit: (file: string) => Promise<void>): Promise<string> => {
    await using world = await execWorld('auto', {
      taint: THEIRS,
      approve: async () => ({ approved: false, reason: 'no' }),
    });
    await world.landing.probe();
    const file = join(world.workspace, name);
    await writeFile(file, 'mine\n');
    const running = world.run(LOOP.replace('FILE', name));
    for (let n = 0; n < 10; n += 1) await pause();
    await edit(file);
    await running;
    return await readFile(file, 'utf8');
  };
  test('a file that is written in its place stays as it was written', async () => {
    expect(await afterwards('AGENTS.md', (file) => writeFile(file, 'edited\n'))).toBe('edited\n');
  });
  test.each(['AGENTS.md', 'HEARTBEAT.md', 'SOUL.md', 'TOOLS.md', 'USER.md'])(
    '%s that is replaced stays as it was written',
    async (name) => {
      const byRenaming = async (file: string): Promise<void> => {
        await writeFile(`${file}.new`, 'edited\n');
        await rename(`${file}.new`, file);
      };
      expect(await played(() => afterwards(name, byRenaming))).toBe('edited\n');
    },
  );
});

describeWith('bubblewrap')('a protected file that the assistant itself edits while a command runs', () => {
  const replaced = (path: string): Call => call('edit_file', { path, oldText: 'mine', newText: 'edited' });
  /** Whether a command of a stranger's conversation, which runs on, wrote to the file after the owner had it edited. */
  const isTaken = async (name: string, edit: Call): Promise<boolean> => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42'], owners: ['42'] } } },
      furnish: (home) => writeFile(join(home, 'workspace', name), 'mine\n'),
    });
    const loop = `touch started; for n in $(seq 3000); do [ -e stop ] && break; echo EVIL >> ${name}; sleep 0.02; done 2>/dev/null; touch ended`;
    // A question is enough: nothing runs then.
    if (await tainted(world, [call('exec', { command: loop, background: true })])) return false;
    await waitFor(() => isThere(world, 'started'), { what: 'the command' });
    await pause();
    if ((await textOf(world, name)).includes('EVIL')) throw new Error('it was not protected at first');
    await fresh(world);
    if (await asks(world, [edit])) throw new Error('the owner’s own edit asked');
    if (!(await textOf(world, name)).includes('edited')) throw new Error('it was not edited');
    await pause();
    await writeFile(join(world.workspace, 'stop'), '');
    await waitFor(() => isThere(world, 'ended'), { what: 'the end of the command' });
    return (await textOf(world, name)).includes('EVIL');
  };
  test.each(
    ['AGENTS.md', 'HEARTBEAT.md', 'SOUL.md', 'TOOLS.md', 'USER.md'].flatMap((name) => [
      [name, 'edited', replaced(name)] as const,
      [name, 'written', write(name, 'edited\n')] as const,
    ]),
  )('%s, %s', async (name, _how, edit) => {
    expect(await played(() => isTaken(name, edit))).toBe(false);
  });
});

describe('a command that deletes everything the person has, where everything is allowed', () => {
  interface Attack {
    readonly command: string;
    /** Not every machine has it: that it ran is enough. */
    readonly program?: string;
  }
  const destroys = async ({ command, program }: Attack): Promise<boolean> => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full', sandbox: 'off' } } } });
    const person = join(dirname(world.home), 'person');
    const photo = join(person, 'photo.jpg');
    await mkdir(person, { recursive: true });
    await writeFile(photo, 'a photo');
    await asks(world, [run(`touch ran; test "$HOME" = ${person} && ${command}`)]);
    if (!isThere(world, 'ran')) return false;
    if (program === undefined && (await readFile(photo, 'utf8').catch(() => '')) === 'a photo')
      throw new Error('it ran, and the photo is there');
    return true;
  };
  test('is refused if it is rm', async () => {
    expect(await destroys({ command: 'rm -rf ~' })).toBe(false);
  });
  const ATTACKS: Readonly<Record<string, Attack>> = {
    'a home that is deleted by a program of node': {
      command: `node -e 'fs.rmSync(os.homedir(),{recursive:true})'`,
    },
    'a home that is deleted by a program of perl': { command: `perl -e 'unlink glob q(~/*)'` },
    'a home that is deleted by rsync': { command: 'mkdir empty; rsync -a --delete empty/ ~/', program: 'rsync' },
    'a home that is deleted by tar': { command: 'tar --remove-files -cf /dev/null ~' },
    'a home that is emptied by truncate': { command: 'find ~ -type f -exec truncate -s 0 {} +' },
    'a home that is moved away': { command: 'mv ~ "$(mktemp -d -p .)"' },
  };
  for (const [name, attack] of Object.entries(ATTACKS)) {
    test(`stays: ${name}`, async () => {
      expect(await played(() => destroys(attack))).toBe(false);
    });
  }
});

const isThere = ({ workspace }: World, path: string): boolean => existsSync(join(workspace, path));

/** Long enough for a command to write many times. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));
