import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GitKeeper } from '../../src/core/security/sandbox/git-keeper.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { tempFolder } from '../support/temp.ts';

test('what could not be undone is a failure of the command, and everything else is undone', async () => {
  await using workspace = await tempFolder();
  const hooks = join(workspace.path, '.git', 'hooks');
  await mkdir(hooks, { recursive: true });
  // No temporary file beside it can have a longer name.
  const unwritable = join(hooks, 'x'.repeat(255));
  const hook = join(hooks, 'zz');
  for (const path of [unwritable, hook]) await writeFile(path, '#!/bin/sh\n', { mode: 0o600 });
  const watch = await new GitKeeper(workspace.path, systemClock).begin();
  for (const path of [unwritable, hook]) await chmod(path, 0o700);
  await expect(watch.end()).rejects.toThrow('What git would run could not be undone everywhere.');
  const again = await new GitKeeper(workspace.path, systemClock).begin();
  await chmod(hook, 0o700);
  expect((await again.end()).map(({ path }) => path)).toEqual(['.git/hooks/zz']);
});
