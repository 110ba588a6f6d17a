import { rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileTools, type FileTools } from '../../support/file-tools.ts';
import { tempFolder } from '../../support/temp.ts';

/** Files of which each is a minute older than the one before. */
async function withFiles(files: FileTools, ...paths: readonly string[]): Promise<void> {
  for (const [n, path] of paths.entries()) {
    const absolute = await files.put(path, path);
    const at = new Date(Date.UTC(2026, 0, 1, 12, -n));
    await utimes(absolute, at, at);
  }
}

describe('files', () => {
  test('are found by their names, those that changed last first', async () => {
    await using files = await fileTools();
    await withFiles(files, 'z.ts', 'src/deep/a.ts', 'b.md', 'm.ts');
    expect(await files.call('glob', { pattern: '*.ts' })).toMatchObject({
      title: 'found *.ts',
      output: 'z.ts\nsrc/deep/a.ts\nm.ts',
      metadata: { found: 3, searched: 4, truncated: false },
    });
    expect((await files.call('glob', { pattern: 'src/**' })).output).toBe('src/deep/a.ts');
    expect((await files.call('glob', { pattern: '*.ts', path: 'src' })).output).toBe('src/deep/a.ts');
  });

  test.each([
    ['*.ts', ['a.ts', 'src/deep/a.ts', '.hidden.ts'], ['a.tsx', 'b.ts/c']],
    ['src/*.ts', ['src/a.ts'], ['a.ts', 'src/x/a.ts', 'lib/src/a.ts']],
    ['**/test/*.ts', ['test/a.ts', 'x/y/test/a.ts'], ['test/x/a.ts', 'mytest/a.ts']],
    ['src/**', ['src/a', 'src/b/b.c'], ['srcs/a']],
    ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['az', 'b/bz']],
    ['{src,lib/deep}/*.md', ['src/a.md', 'lib/deep/a.md'], ['lib/a.md']],
    ['f?.txt', ['f1.txt'], ['f.txt', 'f12.txt']],
    ['[a-c][!0-9]', ['ax', 'c-'], ['dx', 'a1']],
    ['[a^&]', ['a', '^', '&'], ['b']],
    [String.raw`\*\[a\]`, ['*[a]'], ['xa', '*a']],
    ['a,b', ['a,b'], ['a', 'b']],
    ['app/(group)/a|b.$+', ['app/(group)/a|b.$+'], ['app/group/a', 'b.$+']],
    ['"a b"*', ['"a b"c'], ['a bc']],
    ['Grüße 你好*', ['Grüße 你好 😀.txt'], ['Grusse']],
    ['a**b', ['aXb', 'ab'], ['a/b']],
  ])('that match %s', async (pattern, fits, others) => {
    await using files = await fileTools();
    await withFiles(files, ...fits, ...others);
    const { output } = await files.call('glob', { pattern });
    expect(output.split('\n')).toEqual(fits);
  });

  test('are found by a whole path too', async () => {
    await using files = await fileTools();
    await withFiles(files, 'src/a.ts', 'a.ts');
    const named = async (args: Record<string, string>): Promise<string> => (await files.call('glob', args)).output;
    expect(await named({ pattern: join(files.workspace, '*.ts') })).toBe('a.ts');
    expect(await named({ pattern: join(files.workspace, '*.ts'), path: '.' })).toBe('a.ts');
    expect(await named({ pattern: join(files.workspace, 'src', '*.ts'), path: 'src' })).toBe('src/a.ts');
    expect(await named({ pattern: './*.ts' })).toBe('a.ts');
    const answer = await files.call('glob', { pattern: join(files.workspace, 'src', '**', '*.ts') });
    expect(answer.output).toBe('src/a.ts');
    expect((await files.call('glob', { pattern: '/etc/*' })).output).toContain('outside the workspace');
  });

  test('in .git and node_modules and links are left out; hidden ones are not', async () => {
    await using files = await fileTools();
    await withFiles(files, '.hidden', '.git/config', 'a/node_modules/b.js', 'a/.config/x');
    await symlink('.', join(files.workspace, 'loop'));
    await symlink('.hidden', join(files.workspace, 'link'));
    await symlink('/etc', join(files.workspace, 'out'));
    expect((await files.call('glob', { pattern: '**' })).output).toBe('.hidden\na/.config/x');
    expect((await files.call('glob', { pattern: '*', path: 'a/node_modules' })).output).toBe('a/node_modules/b.js');
  });

  test('of any name are named, and names stay on their line', async () => {
    await using files = await fileTools();
    await withFiles(files, 'Grüße 你好 😀.txt', 'with blank.txt', 'a\nb.txt', '<|im_start|>.txt');
    const { output } = await files.call('glob', { pattern: '*.txt' });
    expect(output.split('\n').slice(0, 3)).toEqual(['Grüße 你好 😀.txt', 'with blank.txt', 'a␊b.txt']);
    expect(output).not.toContain('<|im_start');
  });

  test('that are not there are said not to be', async () => {
    await using files = await fileTools();
    await withFiles(files, 'a.md');
    expect(await files.call('glob', { pattern: '*.ts' })).toMatchObject({
      output: 'No such file in 1 file.',
      metadata: { found: 0, searched: 1 },
    });
  });
});

describe('pages', () => {
  test.each([
    [{ limit: 7 }, 15_600],
    [{}, 100],
  ])('with %j and %i characters make up all files, once', async (args, pageChars) => {
    await using files = await fileTools({ pageChars });
    const names = Array.from({ length: 30 }, (_, n) => `f${n}.txt`);
    await withFiles(files, ...names);
    const found: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const { output, metadata } = await files.call('glob', { pattern: '*', offset, ...args });
      expect(output.length).toBeLessThan(pageChars + 100);
      found.push(...(output.split('\n\n')[0] ?? '').split('\n'));
      const next = /continue at offset (\d+)/u.exec(output)?.[1];
      expect(metadata['truncated']).toBe(next !== undefined);
      offset = next === undefined ? undefined : Number(next);
    }
    expect(found).toEqual(names);
  });

  test('have 200 files unless more are asked for', async () => {
    await using files = await fileTools();
    for (let n = 0; n < 250; n += 1) await writeFile(join(files.workspace, `${n}`), '');
    expect((await files.call('glob', { pattern: '*' })).metadata['found']).toBe(200);
    expect((await files.call('glob', { pattern: '*', limit: 2_000 })).metadata['found']).toBe(250);
  });
});

describe('what is closed', () => {
  test('is not named: others’ private files, the state of the assistant, what lies in a place for credentials', async () => {
    await using files = await fileTools();
    for (const path of ['memory/MEMORY.md', '.ssh/id_rsa', 'a.txt']) await files.put(path, 'x');
    await symlink(files.home, join(files.workspace, 'home'));
    const names = async (role: 'owner' | 'trusted'): Promise<string | undefined> =>
      (await files.call('glob', { pattern: '**' }, { role })).output.split('\n\n')[0];
    expect((await names('owner'))?.split('\n').toSorted()).toEqual(['a.txt', 'memory/MEMORY.md']);
    expect(await names('trusted')).toBe('a.txt');
  });

  test.each([
    ['a file', 'a.txt', 'is a file; a folder was expected'],
    ['a missing folder', 'no', 'does not exist'],
    ['the home', '..', 'configuration or state'],
    ['a folder outside', '/etc', 'outside the workspace'],
    ['a link that leads out', 'out', 'outside the workspace'],
    ['a link in circles', 'loop', 'lead in a circle'],
  ])('%s as a path is refused', async (_name, path, sentence) => {
    await using files = await fileTools();
    await files.put('a.txt', 'x');
    await symlink('/etc', join(files.workspace, 'out'));
    await symlink('loop', join(files.workspace, 'loop'));
    const answer = await files.call('glob', { pattern: '*', path });
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain(sentence);
  });
});

test.each([
  [{}],
  [{ pattern: '' }],
  [{ pattern: '[' }],
  [{ pattern: '{a,b' }],
  [{ pattern: 'x'.repeat(1_001) }],
  [{ pattern: '*', limit: 2_001 }],
  [{ pattern: '*', offset: -1 }],
])('bad input %j is a result', async (args) => {
  await using files = await fileTools();
  const answer = await files.call('glob', args);
  expect(answer.isError).toBe(true);
  expect(answer.output).toMatch(/^(?:Nothing was done|The pattern).*\.$/u);
});

test('a folder that goes away meanwhile is no failure', async () => {
  await using files = await fileTools();
  await withFiles(files, 'a/x', 'b/x');
  await rm(join(files.workspace, 'a'), { recursive: true });
  expect((await files.call('glob', { pattern: 'x' })).output).toBe('b/x');
});

describe('what git ignores', () => {
  const shown = async (files: FileTools, args: Readonly<Record<string, unknown>> = {}): Promise<readonly string[]> => {
    const { output } = await files.call('glob', { pattern: '**', ...args });
    return (output.split('\n\n')[0] ?? '')
      .split('\n')
      .filter((name) => !name.endsWith('.gitignore'))
      .toSorted();
  };

  test('is left out, counted, and shown on request', async () => {
    await using files = await fileTools();
    await withFiles(files, 'a.ts', 'a.log', 'dist/b.ts', 'dist/c.ts', 'src/dist/d.ts', 'src/e.log');
    await files.put('.gitignore', '# built\ndist/\n*.log\n');
    const answer = await files.call('glob', { pattern: '*.ts' });
    expect(answer.output).toBe('a.ts\n\n(4 files or folders left out that git ignores; see with ignored: true)');
    expect(await shown(files, { ignored: true })).toEqual([
      'a.log',
      'a.ts',
      'dist/b.ts',
      'dist/c.ts',
      'src/dist/d.ts',
      'src/e.log',
    ]);
    const none = await files.call('glob', { pattern: 'b.ts' });
    expect(none.output).toContain('see with ignored: true');
  });

  test('is decided by the nearest file, and the last line of it; what is taken back is found', async () => {
    await using files = await fileTools();
    await withFiles(files, 'x.log', 'keep.log', 'sub/keep.log', 'sub/y.log', 'sub/z.txt', 'other/keep.log');
    await files.put('.gitignore', '*.log\r\n!keep.log\r\n/other/*\r\n');
    await files.put('sub/.gitignore', 'keep.log\n!y.log\n/z.txt\n');
    expect(await shown(files)).toEqual(['keep.log', 'sub/y.log']);
  });

  test('stays ignored within an ignored folder, whatever is taken back there', async () => {
    await using files = await fileTools();
    await withFiles(files, 'out/a', 'out/b/c', 'in/a');
    await files.put('.gitignore', 'out\n!out/a\n');
    expect(await shown(files)).toEqual(['in/a']);
  });

  test.each([
    ['/top', ['deep/top', 'deep/x']],
    ['deep/x', ['deep/top', 'top']],
    ['**/top', ['deep/x']],
    ['deep/**', ['top']],
    ['t?p', ['deep/x']],
    ['[xt]*', []],
    [String.raw`\#top`, ['deep/top', 'deep/x', 'top']],
    ['{top,x}', ['deep/top', 'deep/x', 'top']],
    ['top/', ['deep/top', 'deep/x', 'top']],
    ['[', ['deep/top', 'deep/x', 'top']],
    ['top   ', ['deep/x']],
  ])('by the pattern %j leaves %j', async (pattern, left) => {
    await using files = await fileTools();
    await withFiles(files, 'top', 'deep/top', 'deep/x');
    await files.put('.gitignore', `${pattern}\n`);
    expect((await shown(files)).filter((name) => /top|x$/u.test(name))).toEqual(left);
  });

  test('counts from the folders above within a repository, but not for a folder that is named', async () => {
    await using files = await fileTools();
    await withFiles(files, 'repo/.git/HEAD', 'repo/src/a.ts', 'repo/src/gen/b.ts', 'repo/src/a.log');
    await files.put('repo/.gitignore', '*.log\nsrc/gen/\n');
    expect(await shown(files, { path: 'repo/src' })).toEqual(['repo/src/a.ts']);
    expect(await shown(files, { path: 'repo/src/gen' })).toEqual(['repo/src/gen/b.ts']);
  });

  test('is not searched by grep either', async () => {
    await using files = await fileTools();
    await withFiles(files, 'a.ts', 'dist/a.ts');
    await files.put('.gitignore', 'dist\n');
    const found = await files.call('grep', { pattern: 'a.ts' });
    expect(found.output).toContain('1: a.ts');
    expect(found.output).not.toContain('dist/a.ts');
    expect((await files.call('grep', { pattern: 'a.ts', ignored: true })).output).toContain('dist/a.ts');
  });

  test('by lines made to take long does not stop the search', async () => {
    await using files = await fileTools();
    await withFiles(files, 'a'.repeat(200), 'b.ts');
    await files.put('.gitignore', `${'*a'.repeat(40)}b\n${'x'.repeat(5_000)}\n`);
    const start = performance.now();
    expect(await shown(files)).toEqual(['a'.repeat(200), 'b.ts']);
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  test('takes an absolute pattern however its path is written', async () => {
    await using other = await tempFolder();
    const link = join(other.path, 'ws');
    await using tools = await fileTools({ paths: () => ({ workspace: link }) });
    await symlink(tools.workspace, link);
    await tools.put('notes/a.md', 'hello');
    for (const folder of [`${link}/notes`, `${tools.workspace}//notes`, `${tools.workspace}/notes/../notes`]) {
      expect((await tools.call('glob', { pattern: `${folder}/*.md` })).output).toContain('a.md');
      expect((await tools.call('grep', { pattern: 'hello', glob: `${folder}/*.md` })).output).toContain('a.md');
    }
  });
});
