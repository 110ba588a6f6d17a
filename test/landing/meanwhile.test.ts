import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { judgeGit } from '../../src/core/landing/git/judge.ts';
import type { Changes, Verdict } from '../../src/core/landing/contract.ts';
import { landingWorld } from '../support/landing-world.ts';
import { describeWith } from '../support/test-with.ts';

/** Judges as a command's changes are judged, without anybody to ask. */
async function gitsVerdict(changes: Changes, signal: AbortSignal): Promise<Verdict> {
  const [workspace, after] = [changes.before(''), changes.root];
  const changed = changes.paths.map(({ path }) => Buffer.from(path));
  const findings = await judgeGit({ workspace, after, changed, signal });
  return findings.length === 0 ? { lands: true } : { lands: false, reason: findings.map(({ what }) => what).join() };
}

describeWith('bubblewrap')('changes that land while others are judged', () => {
  test.each([
    [
      'halves of a bare repository',
      'echo "ref: refs/heads/main" > x/HEAD && git config --file x/config core.pager evil',
      'mkdir x/objects x/refs',
    ],
    [
      'a file that leads git to a folder, and the folder',
      'mkdir p && echo "gitdir: ../y" > p/.git',
      'mkdir -p y && printf "[core]\\npager = evil\\n" > y/config',
    ],
  ])('are judged together with them: %s', async (_what, one, other) => {
    await using world = await landingWorld();
    await mkdir(join(world.workspace, 'x'));
    await writeFile(join(world.workspace, 'x/notes'), 'mine');
    const second = await world.on(other);
    const first = await world.on(one);
    let judged = 0;
    const result = await world.land(second.view, {
      judge: async (changes, signal) => {
        judged += 1;
        const verdict = await gitsVerdict(changes, signal);
        if (judged === 1) await world.land(first.view, { judge: gitsVerdict });
        return verdict;
      },
    });
    expect(result).toEqual({ notLanded: expect.stringContaining('evil') });
    expect(judged).toBe(2);
    expect(existsSync(join(world.workspace, 'x/refs')) || existsSync(join(world.workspace, 'y/config'))).toBe(false);
  });
});

describeWith('bubblewrap')('a view whose folders are deeper than a path can be', () => {
  const DEEP = `python3 -c "
import os
for n in range(60): os.mkdir('d'*200); os.chdir('d'*200)
open('big', 'wb').write(b'x' * 3000000); os.mkdir('closed'); open('closed/x', 'w'); os.chmod('closed', 0)
"`;

  test('does not land and is removed', async () => {
    await using world = await landingWorld();
    const { view } = await world.on(DEEP);
    expect(await world.land(view)).toEqual({ notLanded: expect.any(String) });
    await view[Symbol.asyncDispose]();
    expect(await readdir(join(world.home, 'landings'))).toEqual([]);
  });

  test('is full when it cannot be measured', async () => {
    await using world = await landingWorld();
    const { signal } = new AbortController();
    await using view = await world.landing.open({ signal, mostBytes: 1_000_000 });
    const full = Promise.withResolvers<void>();
    using _watch = view.watch(full.resolve);
    const child = await world.start(DEEP, view);
    await child.exit;
    await full.promise;
  });
});
