import { execFileSync } from 'node:child_process';
import { chmod, mkdir, open, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ToolResult } from '../../../src/core/tools/tool.ts';
import { fileTools, type FileTools } from '../../support/file-tools.ts';
import type { TestCall } from '../../support/tool-context.ts';

type Args = Readonly<Record<string, unknown>>;

/** Searches in a workspace of these files. */
async function grep(contents: Readonly<Record<string, string | Uint8Array>>, args: Args): Promise<ToolResult> {
  await using files = await fileTools();
  for (const [path, content] of Object.entries(contents)) await files.put(path, content);
  return await files.call('grep', args);
}

describe('lines', () => {
  test('are shown with their file and number, files in order', async () => {
    const answer = await grep(
      { 'b.md': 'none\nTODO two\n', 'a/x.md': 'TODO one\n', 'c.md': 'nothing' },
      { pattern: 'TODO' },
    );
    expect(answer).toMatchObject({
      title: 'searched TODO',
      output: 'a/x.md\n1: TODO one\nb.md\n2: TODO two',
      metadata: { found: 2, searched: 3, truncated: false },
    });
  });

  test('around a match are shown once, with a mark where some are missing', async () => {
    const text = Array.from({ length: 20 }, (_, n) => (n === 2 || n === 4 || n === 15 ? `hit ${n}` : `line ${n}`)).join(
      '\n',
    );
    const { output } = await grep({ 'a.txt': text }, { pattern: '^hit', context: 2 });
    expect(output.split('\n')).toEqual([
      'a.txt',
      '1- line 0',
      '2- line 1',
      '3: hit 2',
      '4- line 3',
      '5: hit 4',
      '6- line 5',
      '7- line 6',
      '--',
      '14- line 13',
      '15- line 14',
      '16: hit 15',
      '17- line 16',
      '18- line 17',
    ]);
  });

  test.each([
    ['of CRLF', 'a TODO\r\nb\r\n', 'TODO$', '1: a TODO'],
    ['without a final newline', 'b\na TODO', 'TODO', '2: a TODO'],
    ['behind a byte-order mark', '\ufeffTODO', '^TODO', '1: TODO'],
    ['of Latin-1', Buffer.from('gr\xfc\xdfe\n', 'latin1'), 'grüße', '1: grüße'],
    ['of UTF-16', Buffer.from('\ufeffa\nTODO ä\n', 'utf16le'), 'TODO', '2: TODO ä'],
    ['in many scripts', 'Grüße 你好 😀', '你好 .$', '1: Grüße 你好 😀'],
  ])('%s', async (_name, content, pattern, line) => {
    expect((await grep({ 'a.txt': content }, { pattern })).output).toBe(`a.txt\n${line}`);
  });

  test('that are huge are cut around their match', async () => {
    const { output } = await grep({ 'a.js': `${'x'.repeat(500_000)}TODO${'y'.repeat(500_000)}` }, { pattern: 'TODO' });
    expect(output).toMatch(/^a\.js\n1: …x{60}TODOy+…$/u);
    expect(output.length).toBeLessThan(330);
  });

  test('of many megabytes are searched to their end', async () => {
    const { output } = await grep({ 'a.json': `${'x'.repeat(5_000_000)}TODO` }, { pattern: 'TO[D]O' });
    expect(output).toMatch(/^a\.json\n1: …x+TODO$/u);
  });

  test('of which only the beginning was searched are told of', async () => {
    const { output } = await grep({ 'a.json': `${'x'.repeat(17_000_000)}TODO` }, { pattern: 'TODO' });
    expect(output).toBe(
      'No match in 1 file.\n\n(1 file with a line longer than 16 MB: only the beginning of that line was searched)',
    );
  });

  test.each([
    ['at its beginning', `${'\0'.repeat(5_000)}start\nERROR here\n`],
    ['in a large beginning', `${'\0'.repeat(1_500_000)}start\nERROR here\n`],
    ['in its middle', `start\n${'\0'.repeat(5_000)}\nERROR here\n`],
    ['here and there', 'start\0\nERR\0OR here\nend\0\n'],
  ])('of a log with NUL bytes %s are found', async (_title, text) => {
    expect((await grep({ 'a.log': text }, { pattern: 'ERROR' })).output).toMatch(/^a\.log\n\d: ERROR here$/u);
    expect((await grep({ 'a.log': text }, { pattern: 'ERR[O]R' })).output).toContain('ERROR here');
  });

  test('deep in a large file are found under their number', async () => {
    const { output } = await grep({ 'a.log': `${'some words\n'.repeat(300_000)}a TODO\nend` }, { pattern: 'T[O]DO' });
    expect(output).toBe('a.log\n300001: a TODO');
  });
});

describe('files', () => {
  const contents = { 'a.md': 'x\nx x', 'b.md': 'x', 'c.txt': 'y' };

  test('alone are named with the mode files', async () => {
    expect((await grep(contents, { pattern: 'x', mode: 'files' })).output).toBe('a.md\nb.md');
  });

  test('are named with how many lines match with the mode count', async () => {
    expect((await grep(contents, { pattern: 'x', mode: 'count' })).output).toBe('a.md: 2\nb.md: 1');
  });

  test('are chosen by a pattern for their names, or by a path', async () => {
    expect((await grep(contents, { pattern: '.', glob: '*.txt' })).output).toBe('c.txt\n1: y');
    expect((await grep(contents, { pattern: 'x', path: 'b.md' })).output).toBe('b.md\n1: x');
    expect((await grep({ 'd/e/f.md': 'x', 'x.md': 'x' }, { pattern: 'x', path: 'd' })).output).toBe('d/e/f.md\n1: x');
  });

  test('of a glob with a whole path are those that it names', async () => {
    await using files = await fileTools();
    for (const path of ['a.md', 'deep/b.md', 'deep/c.txt', 'deep/deeper/d.md']) await files.put(path, 'x');
    const found = async (args: Args): Promise<string> =>
      (await files.call('grep', { pattern: 'x', mode: 'files', ...args })).output;
    expect(await found({ glob: join(files.workspace, '*.md') })).toBe('a.md');
    expect(await found({ glob: join(files.workspace, 'deep', '*.md') })).toBe('deep/b.md');
    expect(await found({ glob: join(files.workspace, '**', '*.md') })).toBe('a.md\ndeep/b.md\ndeep/deeper/d.md');
    expect(await found({ glob: join(files.workspace, 'deep', '*.md'), path: 'deep' })).toBe('deep/b.md');
    expect(await found({ glob: '/etc/*' })).toContain('outside the workspace');
  });

  test('that are binary are counted where nothing is found', async () => {
    expect((await grep({ 'a.png': Buffer.from('TODO\0TODO'), 'b.md': 'x' }, { pattern: 'TODO' })).output).toBe(
      'No match in 2 files.\n\n(1 binary file among them, not searched)',
    );
  });

  test('where nothing is found the answer says in how many', async () => {
    expect(await grep(contents, { pattern: 'zzz' })).toMatchObject({
      output: 'No match in 3 files.',
      metadata: { found: 0, searched: 3, truncated: false },
    });
  });

  test('in .git, node_modules, behind links and binary ones are left out; hidden ones are not', async () => {
    await using files = await fileTools();
    for (const path of ['.git/config', 'node_modules/a/b.js', '.hidden/a', 'real.txt']) await files.put(path, 'TODO');
    await files.put('binary', Buffer.from('TODO\0TODO'));
    await files.put('empty', '');
    await symlink('.', join(files.workspace, 'loop'));
    await symlink('real.txt', join(files.workspace, 'link.txt'));
    execFileSync('/usr/bin/env', ['mkfifo', join(files.workspace, 'pipe')]);
    expect((await files.call('grep', { pattern: 'TODO', mode: 'files' })).output).toBe('.hidden/a\nreal.txt');
    expect((await files.call('grep', { pattern: 'TODO', path: 'node_modules' })).output).toContain('b.js');
  });

  test('of a gigabyte with nothing in it do not hold a search up', async () => {
    await using files = await fileTools();
    const handle = await open(join(files.workspace, 'huge.bin'), 'w');
    await handle.truncate(1024 ** 3);
    await handle.close();
    await files.put('z.txt', 'TODO');
    expect((await files.call('grep', { pattern: 'TODO' })).output).toBe('z.txt\n1: TODO');
  });

  test('named by strangers stay on their line and look like no markup', async () => {
    await using files = await fileTools();
    await files.put('a\nb', 'x');
    await files.put('<|im_start|>system', 'x');
    const { output } = await files.call('grep', { pattern: 'x', mode: 'files' });
    expect(output.split('\n')).toHaveLength(2);
    expect(output).not.toContain('<|im_start');
  });
});

describe('patterns', () => {
  test.each([
    ['in any case', 'todo', { ignoreCase: true }, true],
    ['with the case of letters', 'todo', {}, false],
    ['with a flag inside', '(?i)todo', {}, true],
    ['with signs escaped that need it not', String.raw`a\-b\"c`, {}, true],
    ['with Unicode classes', String.raw`^\p{Lu}+$`, {}, true],
    ['for white space', String.raw`fn\s+\w+\(`, {}, true],
    ['that look behind', '(?<=fn )main', {}, true],
    ['over two lines', String.raw`TODO\nfn`, {}, false],
  ])('%s', async (_name, pattern, options, isFound) => {
    const { output } = await grep({ 'a.rs': 'TODO\nfn main()\na-b"c\n' }, { pattern, ...options });
    expect(output.startsWith('a.rs\n')).toBe(isFound);
  });

  test.each([
    ['(', 'no regular expression'],
    ['a**', 'no regular expression'],
    ['x'.repeat(2_001), 'longer than'],
  ])('that are broken are a sentence', async (pattern, sentence) => {
    const answer = await grep({ 'a.txt': 'a' }, { pattern });
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain(sentence);
    expect(answer.output).not.toContain('\n');
  });

  test('that would take for ever are ended', async () => {
    await using files = await fileTools({ searchMs: 1_500 });
    await files.put('a.txt', `${'a'.repeat(60)}!`);
    const answer = await files.call('grep', { pattern: '^(a+)+$' });
    expect(answer).toMatchObject({ isError: true, output: expect.stringContaining('was ended after 1.5 s') });
    expect((await files.call('grep', { pattern: '!' })).metadata['found']).toBe(1);
  });
});

/** Follows the offsets until there is none. */
async function allPages(files: FileTools, args: Args): Promise<{ lines: string[]; pages: number }> {
  const lines: string[] = [];
  for (let offset = 0, pages = 1; ; pages += 1) {
    const { output } = await files.call('grep', { ...args, offset });
    const [body = '', note = ''] = output.split('\n\n');
    lines.push(...body.split('\n').filter((line) => line.includes(':')));
    const next = /continue at offset (\d+)/u.exec(note)?.[1];
    if (next === undefined) return { lines, pages };
    offset = Number(next);
    expect(pages).toBeLessThan(100);
  }
}

describe('pages', () => {
  test.each([
    ['by a limit', { limit: 7 }, 15_600],
    ['by characters', {}, 200],
    ['with lines around', { limit: 5, context: 2 }, 15_600],
    ['of counts', { mode: 'count', limit: 2 }, 15_600],
  ])('%s make up everything, once', async (_name, args, pageChars) => {
    await using files = await fileTools({ pageChars });
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await files.put(
        `${name}.txt`,
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? `hit ${name}${n}` : '-')).join('\n'),
      );
    }
    const { lines, pages } = await allPages(files, { pattern: 'hit', ...args });
    expect(pages).toBeGreaterThan(2);
    expect(lines).toHaveLength('mode' in args ? 5 : 50);
    expect(new Set(lines).size).toBe('mode' in args ? 5 : 50);
  });

  test('are never longer than they may be', async () => {
    await using files = await fileTools({ pageChars: 1_000 });
    await files.put('a.txt', `${'a word '.repeat(200)}\n`.repeat(200));
    for (const context of [0, 20]) {
      const { output, metadata } = await files.call('grep', { pattern: 'word', context });
      const [page = ''] = output.split('\n\n');
      expect(page.length).toBeLessThanOrEqual(1_000);
      expect(metadata['truncated']).toBe(true);
    }
  });
});

describe('what is closed', () => {
  const SECRET = 'canary-value';

  async function closed(): Promise<FileTools> {
    const files = await fileTools();
    const { home, workspace } = files;
    await mkdir(join(home, 'outside'));
    await writeFile(join(home, 'outside', 'x.txt'), SECRET);
    await writeFile(join(home, 'config.json'), SECRET);
    for (const path of ['.env', '.ssh/id_rsa', 'deep/server.key', 'memory/MEMORY.md']) await files.put(path, SECRET);
    await symlink(join(home, 'outside'), join(workspace, 'out'));
    await symlink(join(home, 'config.json'), join(workspace, 'config.txt'));
    await files.put('mine.txt', 'mine');
    return files;
  }

  test('is not searched, and the answer says that something was left out', async () => {
    await using files = await closed();
    const context: Partial<TestCall> = { role: 'trusted' };
    const { output } = await files.call('grep', { pattern: 'canary|mine' }, context);
    expect(output).toMatch(/^mine\.txt\n1: mine\n\n\(\d files or folders left out/u);
    expect(output).not.toContain(SECRET);
    expect((await files.call('grep', { pattern: 'canary' })).output).toMatch(
      /^memory\/MEMORY\.md\n1: canary-value\n\n/u,
    );
    expect(files.asked).toEqual([]);
  });

  test('is refused as a path, or asked about', async () => {
    await using files = await closed();
    for (const path of ['..', '../config.json', 'out', '/etc', '/proc/self', 'config.txt', 'no', 'pipe']) {
      if (path === 'pipe') execFileSync('/usr/bin/env', ['mkfifo', join(files.workspace, 'pipe')]);
      const answer = await files.call('grep', { pattern: 'canary', path });
      expect([path, answer.isError]).toEqual([path, true]);
      expect(answer.output).not.toContain(SECRET);
    }
    expect(files.asked).toEqual([]);
    expect((await files.call('grep', { pattern: 'canary', path: '.env' })).output).toContain(SECRET);
    expect(files.asked).toMatchObject([{ title: 'Read a file', path: join(files.workspace, '.env') }]);
  });

  test('by the system is left out', async () => {
    if (process.getuid?.() === 0) return;
    await using files = await fileTools();
    await chmod(await files.put('a.txt', 'x'), 0o000);
    expect((await files.call('grep', { pattern: 'x' })).output).toContain('1 file or folder left out');
  });
});

describe('in a thread', () => {
  test('the answers are the same, mistakes too', async () => {
    await using files = await fileTools({ searchMs: 30_000 });
    await files.put('sub/a.txt', 'a TODO\n');
    const answers = await Promise.all([
      files.call('grep', { pattern: 'TODO', context: 1 }),
      files.call('glob', { pattern: '*.txt' }),
      files.call('grep', { pattern: '(' }),
    ]);
    expect(answers.map(({ output }) => output)).toEqual([
      'sub/a.txt\n1: a TODO',
      'sub/a.txt',
      expect.stringMatching(/^The pattern is no regular expression: .+\.$/u),
    ]);
  });
});

describe('the contract', () => {
  test.each([
    [{}, 'pattern'],
    [{ pattern: '' }, 'pattern'],
    [{ pattern: 'x', mode: 'all' }, 'mode'],
    [{ pattern: 'x', context: 21 }, 'context'],
    [{ pattern: 'x', limit: 0 }, 'limit'],
    [{ pattern: 'x', glob: '[' }, 'glob'],
  ])('bad input %j is a result', async (args, word) => {
    const answer = await grep({ 'a.txt': 'x' }, args);
    expect(answer.isError).toBe(true);
    expect(answer.output).toMatch(word === 'glob' ? /The pattern "\[" cannot be used/u : new RegExp(`${word}: `, 'u'));
  });

  test('a stop ends it at once', async () => {
    await using files = await fileTools({ searchMs: 30_000 });
    await files.put('a.txt', `${'a'.repeat(60)}!`);
    const stop = new AbortController();
    const start = performance.now();
    const searching = files.call('grep', { pattern: '^(a+)+$' }, { signal: stop.signal });
    setTimeout(() => stop.abort(), 300);
    expect((await searching).output).toContain('Cut off');
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
