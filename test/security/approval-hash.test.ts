import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { approvalHash } from '../../src/core/security/access/approval-hash.ts';
import { escapeControlChars } from '../../src/core/security/text/control-characters.ts';
import { readWords } from '../../src/core/security/commands/words.ts';
import { namedFiles } from '../../src/extensions/exec/always-allow.ts';
import { tempFolder } from '../support/temp.ts';

describe('the hash of what a yes covers', () => {
  const whole = { tool: 'exec', params: { command: 'ls', cwd: undefined }, binds: { files: { a: '1' }, env: ['A'] } };

  test('does not depend on the order of keys, nor on what is undefined', () => {
    const { tool, params, binds } = whole;
    const turned = { binds: { env: binds.env, files: binds.files }, params: { command: params.command }, tool };
    expect(approvalHash(turned)).toBe(approvalHash(whole));
    expect(approvalHash(whole)).toMatch(/^[0-9a-f]{64}$/u);
  });

  test.each([
    { ...whole, tool: 'write_file' },
    { ...whole, params: { command: 'ls ' } },
    { ...whole, params: { ...whole.params, cwd: 'sub' } },
    { ...whole, binds: { ...whole.binds, files: { a: '2' } } },
    { ...whole, binds: { ...whole.binds, files: {} } },
    { ...whole, binds: { ...whole.binds, env: ['A', 'B'] } },
    { ...whole, binds: { ...whole.binds, env: ['["A"]'] } },
  ])('is another for %j', (other) => {
    expect(approvalHash(other)).not.toBe(approvalHash(whole));
  });
});

describe('the files that a command names', () => {
  test('are those of the workspace, wherever in the command the name stands', async () => {
    await using folder = await tempFolder();
    const workspace = join(folder.path, 'workspace');
    await mkdir(join(workspace, 'sub'), { recursive: true });
    for (const name of ['a.sh', 'b.sh', 'two words.sh', 'sub/c.sh', 'other'])
      await writeFile(join(workspace, name), name);
    await writeFile(join(folder.path, 'outside.sh'), 'x');
    await symlink(join(folder.path, 'outside.sh'), join(workspace, 'link.sh'));
    const named = async (command: string): Promise<readonly string[]> => {
      const files = await namedFiles(command, readWords(command, { folder: workspace }), {
        folder: workspace,
        workspace,
      });
      return Object.keys(files)
        .map((path) => path.slice(workspace.length + 1))
        .toSorted();
    };
    expect(await named('./a.sh')).toEqual(['a.sh']);
    expect(await named(`sh -c 'x=1; . ./a.sh && bash <b.sh'`)).toEqual(['a.sh', 'b.sh']);
    expect(await named(`sh "two words.sh"`)).toEqual(['two words.sh']);
    expect(await named('cd sub && ./c.sh')).toEqual(['sub/c.sh']);
    expect(await named(`${join(workspace, 'a.sh')} --config=b.sh`)).toEqual(['a.sh', 'b.sh']);
    expect(await named('find . -exec sh b.sh {} +')).toEqual(['b.sh']);
    expect(await named('cat <<E\nsh a.sh\nE')).toEqual(['a.sh']);
    expect(await named('echo $(sh a.sh)')).toEqual(['a.sh']);
    expect(await named('sh ../outside.sh')).toEqual([]);
    expect(await named('./link.sh')).toEqual(['link.sh']);
    expect(await named('ls -l')).toEqual([]);
  });

  test('come with what changes when they change, or appear', async () => {
    await using folder = await tempFolder();
    const place = { folder: folder.path, workspace: folder.path };
    const hash = async (): Promise<string> =>
      approvalHash(await namedFiles('sh run.sh', readWords('sh run.sh', place), place));
    const missing = await hash();
    await writeFile(join(folder.path, 'run.sh'), 'one');
    const one = await hash();
    await writeFile(join(folder.path, 'run.sh'), 'two');
    const two = await hash();
    await writeFile(join(folder.path, 'again'), 'one');
    await rename(join(folder.path, 'again'), join(folder.path, 'run.sh'));
    expect(new Set([missing, one, two]).size).toBe(3);
    expect(await hash()).toBe(one);
  });
});

test('what cannot be seen is spelled out, line by line', () => {
  expect(escapeControlChars('a\u200bb\u202ec\td\ne\u00a0f\u{e0041}\u115fg')).toBe(
    'a\\u{200b}b\\u{202e}c\\u{9}d\ne\\u{a0}f\\u{e0041}\\u{115f}g',
  );
});
