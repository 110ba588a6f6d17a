import { execFileSync } from 'node:child_process';
import { mkdir, open, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { fileTools, type FileTools } from '../support/file-tools.ts';

/** Follows the offsets that pages name until there is none, and puts the lines together again. */
async function readAll(files: FileTools, path: string, limit?: number): Promise<{ text: string; pages: number }> {
  const lines: string[] = [];
  let offset: number | undefined = 1;
  let pages = 0;
  while (offset !== undefined) {
    const { output, isError } = await files.call('read_file', { path, offset, limit });
    expect(isError).toBeUndefined();
    const next: string | undefined = /continue at offset (\d+)\)$/u.exec(output)?.[1];
    const body = output.replace(/\n\n\(\d+ more lines; continue at offset \d+\)$/u, '');
    for (const line of body.split('\n')) {
      expect(line.split('\t', 1)[0]).toBe(String(lines.length + 1));
      lines.push(line.slice(line.indexOf('\t') + 1));
    }
    offset = next === undefined ? undefined : Number(next);
    pages += 1;
    expect(pages).toBeLessThan(1_000);
  }
  return { text: lines.join('\n'), pages };
}

describe('text', () => {
  test.each([
    ['with a final newline', 'one\ntwo\n', '1\tone\n2\ttwo'],
    ['without a final newline', 'one\ntwo', '1\tone\n2\ttwo'],
    ['with CRLF', 'one\r\ntwo\r\n', '1\tone\n2\ttwo'],
    ['with empty lines', '\n\na\n\n', '1\t\n2\t\n3\ta\n4\t'],
    ['of one newline', '\n', '1\t'],
    ['with a byte-order mark', '\ufeffone', '1\tone'],
    ['in many scripts', 'Grüße 你好 😀', '1\tGrüße 你好 😀'],
  ])('%s is shown with line numbers', async (_name, content, shown) => {
    await using files = await fileTools();
    await files.put('a.txt', content);
    expect(await files.call('read_file', { path: 'a.txt' })).toMatchObject({ title: 'read a.txt', output: shown });
  });

  test.each([
    ['UTF-16 little endian', Buffer.from('\ufeffäö\r\nx', 'utf16le'), '1\täö\n2\tx'],
    ['UTF-16 big endian', Buffer.from('\ufeffäö\nx', 'utf16le').swap16(), '1\täö\n2\tx'],
    ['Latin-1', Buffer.from('gr\xfc\xdfe\n', 'latin1'), '1\tgrüße'],
  ])('in %s is decoded', async (_name, bytes, shown) => {
    await using files = await fileTools();
    await files.put('a.txt', bytes);
    expect((await files.call('read_file', { path: 'a.txt' })).output).toBe(shown);
  });

  test('an empty file says so', async () => {
    await using files = await fileTools();
    await files.put('a.txt', '');
    expect(await files.call('read_file', { path: 'a.txt' })).toMatchObject({
      output: '(the file is empty)',
      metadata: { size: 0, lines: 0 },
    });
  });

  test('the facts name lines, bytes and whether something is missing', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'ü\nb\n');
    const { metadata } = await files.call('read_file', { path: 'a.txt' });
    expect(metadata).toEqual({ lines: 2, size: 5, truncated: false });
  });

  test('a binary file is named as one', async () => {
    await using files = await fileTools();
    await files.put('a.bin', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]));
    expect(await files.call('read_file', { path: 'a.bin' })).toMatchObject({
      isError: true,
      output: 'This is a binary file, so it is not shown as text.',
      metadata: { size: 7 },
    });
  });

  test.each(['grüße 你好.txt', 'with blanks.txt', 'e\u0301.txt', '😀.txt', '-rf.txt', 'it\'s "odd".txt'])(
    'a file named %j is read',
    async (name) => {
      await using files = await fileTools();
      await files.put(name, 'here');
      expect((await files.call('read_file', { path: name })).output).toBe('1\there');
    },
  );
});

describe('pages', () => {
  test('offset and limit choose lines', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'a\nb\nc\nd\n');
    const answer = await files.call('read_file', { path: 'a.txt', offset: 2, limit: 2 });
    expect(answer.output).toBe('2\tb\n3\tc\n\n(1 more lines; continue at offset 4)');
    expect(answer.metadata['truncated']).toBe(true);
  });

  test('an offset behind the end names how many lines there are', async () => {
    await using files = await fileTools();
    await files.put('a.txt', 'a\nb\n');
    expect(await files.call('read_file', { path: 'a.txt', offset: 3 })).toMatchObject({
      isError: true,
      output: 'The file has 2 lines; line 3 was asked for.',
    });
  });

  test.each([
    ['by characters', 20_000, undefined],
    ['by the most lines', 5_000, undefined],
    ['by a limit', 100, 7],
  ])('cut %s they make up the whole file', async (_name, count, limit) => {
    await using files = await fileTools();
    const text = Array.from({ length: count }, (_, i) => (i % 7 === 0 ? '' : `line ${i} ${'·'.repeat(i % 50)}`)).join(
      '\n',
    );
    await files.put('a.txt', `${text}\n`);
    const all = await readAll(files, 'a.txt', limit);
    expect(all.text).toBe(text);
    expect(all.pages).toBeGreaterThan(1);
  });

  test.each([600, 2_000])('of %i characters are kept to, and each has at least one line', async (pageChars) => {
    await using files = await fileTools({ pageChars });
    await files.put('a.txt', `${'x'.repeat(500_000)}\nb\n${'y'.repeat(1_990)}\n`);
    for (const offset of [1, 2, 3]) {
      const { output } = await files.call('read_file', { path: 'a.txt', offset });
      expect(output.startsWith(`${offset}\t`)).toBe(true);
      expect(output.length).toBeLessThan(pageChars + 200);
    }
  });

  test('a huge line is cut and says how long it is', async () => {
    await using files = await fileTools();
    await files.put('a.txt', `${'x'.repeat(1_000_000)}\nend`);
    const { output } = await files.call('read_file', { path: 'a.txt' });
    expect(output).toBe(
      `1\t${'x'.repeat(2_000)}… (1000000 characters; for the rest, read offset 1 with column 2001)\n2\tend`,
    );
  });

  test.each([
    ['one long line', 'x😀y'.repeat(8_000), 1],
    ['one long line of a large file', 'x😀y'.repeat(90_000), 1],
    ['a long line between others', `first\r\n${'好😀'.repeat(12_000)}\r\nlast\n`, 2],
  ])('go through %s', async (_name, content, offset) => {
    await using files = await fileTools();
    await files.put('a.txt', content);
    const parts: string[] = [];
    let column: number | undefined;
    do {
      const { output } = await files.call('read_file', { path: 'a.txt', offset, ...(column && { column }), limit: 1 });
      expect(output.isWellFormed()).toBe(true);
      const found = /^\d+\t(?<text>.*?)(?:… \(\d+ characters; .* with column (?<next>\d+)\))?(?:\n\n\(.*)?$/su.exec(
        output,
      );
      parts.push(found?.groups?.['text'] ?? '');
      const next = Number(found?.groups?.['next']);
      expect(next || Infinity).toBeGreaterThan(column ?? 1);
      column = next || undefined;
    } while (column !== undefined);
    expect(parts.join('')).toBe(content.split(/\r?\n/u)[offset - 1]);
    expect(parts.length).toBeGreaterThan(2);
  });

  test('a line is not cut inside a character', async () => {
    await using files = await fileTools();
    await files.put('a.txt', `x${'😀'.repeat(5_000)}`);
    expect((await files.call('read_file', { path: 'a.txt' })).output.isWellFormed()).toBe(true);
  });
});

describe('what is not read', () => {
  const outside = /^Refused: .* outside the workspace/u;

  test.each([
    ['a missing file', 'no.txt', /^no\.txt does not exist\.$/u],
    ['a directory', 'sub', /^sub is a directory; a file was expected\.$/u],
    ['something below a file', 'a.txt/b', /does not exist/u],
    ['a pipe, without waiting for a writer', 'pipe', /not a regular file/u],
    ['a link that leads out of the workspace', 'out', outside],
    ['a link that goes in circles', 'circle', /its links lead in a circle/u],
    ['a file outside the workspace', '/etc/passwd', outside],
    ['one by a relative path', '../../etc/passwd', outside],
    ['one of the user', '~/notes.txt', outside],
    ['a path with a NUL character', 'a\0b', /NUL/u],
    ['an empty path', '', /path/u],
  ])('%s', async (_name, path, sentence) => {
    await using files = await fileTools();
    await files.put('a.txt', 'a');
    await mkdir(join(files.workspace, 'sub'));
    execFileSync('/usr/bin/env', ['mkfifo', join(files.workspace, 'pipe')]);
    await symlink('/etc/passwd', join(files.workspace, 'out'));
    await symlink('circle', join(files.workspace, 'circle'));
    const { isError, output } = await files.call('read_file', { path });
    expect(isError).toBe(true);
    expect(output).toMatch(sentence);
  });

  test.each(['/dev/zero', '/dev/stdin', '/proc/self/environ', '/sys/kernel/version', 'zeros'])(
    'the device %s, also where everything else is open',
    async (path) => {
      await using files = await fileTools({ paths: () => ({ restrictToWorkspace: false }) });
      await symlink('/dev/zero', join(files.workspace, 'zeros'));
      const { isError, output } = await files.call('read_file', { path });
      expect(isError).toBe(true);
      expect(output).toMatch(/not open to tools|not a regular file/u);
    },
  );

  test.each([true, false])('the configuration in the home (restricted: %s)', async (restrictToWorkspace) => {
    await using files = await fileTools({ paths: () => ({ restrictToWorkspace }) });
    await symlink(join(files.home, 'config.json'), join(files.workspace, 'link'));
    for (const path of ['../config.json', join(files.home, 'config.json'), 'link']) {
      const answer = await files.call('read_file', { path });
      expect(answer.isError).toBe(true);
      expect(answer.output).not.toContain('secret');
    }
  });

  test('a file over 50 MB', async () => {
    await using files = await fileTools();
    const handle = await open(join(files.workspace, 'huge.log'), 'w');
    await handle.truncate(50 * 1024 * 1024 + 1);
    await handle.close();
    expect((await files.call('read_file', { path: 'huge.log' })).output).toBe(
      'huge.log has 52428801 bytes; files over 50 MB are not read. Use exec with head, tail or grep.',
    );
  });
});

describe('what is asked first', () => {
  test('a file that usually holds secrets is read after a yes to its real path', async () => {
    await using files = await fileTools();
    const real = await files.put('.env', 'KEY=1');
    expect((await files.call('read_file', { path: './.env' })).output).toBe('1\tKEY=1');
    expect(files.asked).toMatchObject([{ title: 'Read a file', detail: real }]);
  });

  test('a no is a result', async () => {
    await using files = await fileTools();
    await files.put('.env', 'KEY=1');
    const answer = await files.call(
      'read_file',
      { path: '.env' },
      { approve: async () => ({ approved: false, reason: 'not now' }) },
    );
    expect(answer.output).toMatch(/^Not done: not now\./u);
  });

  test('the yes does not hold for what the path leads to afterwards', async () => {
    await using files = await fileTools();
    await files.put('.env', 'KEY=1');
    await files.put('.env.other', 'KEY=2');
    await symlink('.env', join(files.workspace, 'link'));
    const answer = await files.call(
      'read_file',
      { path: 'link' },
      {
        approve: async () => {
          execFileSync('ln', ['-sfn', '.env.other', join(files.workspace, 'link')]);
          return { approved: true };
        },
      },
    );
    expect(answer.isError).toBe(true);
    expect(answer.output).not.toContain('KEY=2');
  });

  test('a folder that the configuration opens for reading is read, unless it is in the home', async () => {
    await using folder = await tempFolder();
    const shared = await realpath(folder.path);
    await using files = await fileTools({ paths: (home) => ({ readRoots: [shared, join(home, 'shared')] }) });
    await writeFile(join(shared, 'a.txt'), 'shared');
    expect((await files.call('read_file', { path: join(shared, 'a.txt') })).output).toBe('1\tshared');
    await mkdir(join(files.home, 'shared'));
    await writeFile(join(files.home, 'shared', 'a.txt'), 'shared');
    expect((await files.call('read_file', { path: '../shared/a.txt' })).output).toContain('configuration or state');
  });
});
