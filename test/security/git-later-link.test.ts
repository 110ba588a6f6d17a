import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { execWorld } from '../support/exec-world.ts';
import { testWith } from '../support/test-with.ts';

const run = promisify(execFile);

for (const [what, before, after] of [
  ['that is made a link later', 'true', 'true'],
  ['of which a folder becomes a link', 'mkdir ../new', 'rmdir new'],
] as const) {
  testWith('bubblewrap')(`a git setting with a path ${what} is undone when it leads out`, async () => {
    const approve = async () => ({ approved: false, reason: 'no' }) as const;
    await using world = await execWorld('auto', { taint: { untrusted: true, private: true }, approve });
    const out = join(world.home, 'outside');
    const repo = join(world.workspace, 'repo');
    await mkdir(out);
    await run('git', ['init', '-q', repo]);
    const commit = 'echo x > .bashrc && git add . && git -c user.name=a -c user.email=a@example.org commit -qm a';
    await run('sh', ['-c', commit], { cwd: repo });
    await world.run(`cd repo && ${before}; git config core.worktree ../../new`);
    expect((await world.run(`${after}; ln -s ${out} new`)).output).toContain('undone');
    await run('git', ['checkout', '-q', '-f', 'HEAD'], { cwd: repo }).catch(() => {});
    expect(existsSync(join(out, '.bashrc'))).toBe(false);
  });
}
