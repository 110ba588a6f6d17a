import { mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { fileTools } from '../support/file-tools.ts';

interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean;
}

/** Edits a file of this content and returns what it holds afterwards. */
async function edit(content: string | Uint8Array, change: Edit): Promise<{ after: Buffer; answer: ToolResult }> {
  await using files = await fileTools();
  const path = await files.put('a.txt', content);
  const answer = await files.call('edit_file', { path: 'a.txt', ...change });
  return { after: await readFile(path), answer };
}

describe('one exact piece', () => {
  test('is replaced, and the line is named', async () => {
    const { after, answer } = await edit('one\ntwo\nthree\n', { oldText: 'two', newText: '2' });
    expect(after.toString()).toBe('one\n2\nthree\n');
    expect(answer).toMatchObject({
      title: 'edited a.txt',
      output: 'Replaced 1 occurrence at line 2.',
      metadata: { occurrences: 1 },
    });
  });

  test.each([
    ['over several lines', 'a\nb\nc', { oldText: 'a\nb', newText: 'x\ny\nz' }, 'x\ny\nz\nc'],
    ['by nothing', 'abc', { oldText: 'b', newText: '' }, 'ac'],
    ['with special characters of patterns', 'a.b*c', { oldText: '.b*', newText: '$&$1' }, 'a$&$1c'],
    ['in any script', 'Grüße 你好 😀', { oldText: '你好', newText: '😀' }, 'Grüße 😀 😀'],
    ['without a final newline', 'a\nb', { oldText: 'b', newText: 'c' }, 'a\nc'],
  ])('is replaced %s', async (_name, content, change, expected) => {
    expect((await edit(content, change)).after.toString()).toBe(expected);
  });

  test('that occurs more than once is refused with its lines', async () => {
    const { after, answer } = await edit('x\ny\nx\n', { oldText: 'x', newText: 'z' });
    expect(answer).toMatchObject({
      isError: true,
      output: 'oldText occurs 2 times, at lines 1, 3. Add the lines around it to oldText, or set replaceAll to true.',
    });
    expect(after.toString()).toBe('x\ny\nx\n');
  });

  test('that overlaps itself is not unique', async () => {
    const { after, answer } = await edit('}\n}\n}\n', { oldText: '}\n}', newText: '}' });
    expect(answer.output).toContain('occurs 2 times');
    expect(after.toString()).toBe('}\n}\n}\n');
  });

  test('with replaceAll is replaced everywhere', async () => {
    const { after, answer } = await edit('x\ny\nx\n', { oldText: 'x', newText: 'xx', replaceAll: true });
    expect(after.toString()).toBe('xx\ny\nxx\n');
    expect(answer).toMatchObject({ output: 'Replaced 2 occurrences at lines 1, 3.', metadata: { occurrences: 2 } });
  });

  test('that occurs very often is replaced quickly and not all its lines are named', async () => {
    const { after, answer } = await edit('ab\n'.repeat(200_000), { oldText: 'b', newText: 'c', replaceAll: true });
    expect(after.toString()).toBe('ac\n'.repeat(200_000));
    expect(answer.output).toMatch(/^Replaced 200000 occurrences at lines 1, 2, .*20, …\.$/u);
    expect((await edit('ab\n'.repeat(200_000), { oldText: 'b', newText: 'c' })).answer.output.length).toBeLessThan(300);
  });
});

describe('a piece that is not there', () => {
  test('is refused, and lines that differ in white space only are named', async () => {
    const content = 'if (a) {\n\treturn  1;\n}\nreturn 1;\n';
    const { after, answer } = await edit(content, { oldText: '    return 1;\n}', newText: 'x' });
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain('2: return 1; | 4: return 1;');
    expect(after.toString()).toBe(content);
  });

  test('like nothing in the file asks for another look', async () => {
    const { answer } = await edit('abc', { oldText: 'xyz', newText: '' });
    expect(answer.output).toBe('oldText does not occur in the file. Read the file again and copy the text exactly.');
  });

  test('differs by case', async () => {
    expect((await edit('Abc', { oldText: 'abc', newText: '' })).answer.isError).toBe(true);
  });

  test('has at most five lines named', async () => {
    const { answer } = await edit(' a  b\n'.repeat(50), { oldText: 'a b', newText: '' });
    expect(answer.output).toContain('5: a b.');
    expect(answer.output).not.toContain('6: ');
  });
});

describe('the form of a file is kept', () => {
  test('CRLF stays CRLF, though the text comes with bare newlines', async () => {
    const { after } = await edit('a\r\nb\r\nc\r\n', { oldText: 'a\nb', newText: 'x\ny\nz' });
    expect(after.toString()).toBe('x\r\ny\r\nz\r\nc\r\n');
  });

  test('CRLF in the texts themselves is not doubled', async () => {
    const { after } = await edit('a\r\nb\r\n', { oldText: 'a\r\nb', newText: 'x\r\ny' });
    expect(after.toString()).toBe('x\r\ny\r\n');
  });

  test('a piece that starts at a line end is found in CRLF', async () => {
    const { after } = await edit('a\r\nb\r\n', { oldText: '\nb', newText: '\nc\nd' });
    expect(after.toString()).toBe('a\r\nc\r\nd\r\n');
  });

  test('in a file of mixed ends a piece with bare newlines is found', async () => {
    const { after } = await edit('a\r\nb\nc\nd', { oldText: 'b\nc', newText: 'x\ny' });
    expect(after.toString()).toBe('a\r\nx\ny\nd');
  });

  test.each([
    ['lone CR, asked for with \\n', 'a\rb\rc\r', { oldText: 'a\nb', newText: 'x\ny\nz' }, 'x\ry\rz\rc\r'],
    ['lone CR, asked for with CRLF', 'a\rb\rc\r', { oldText: 'a\r\nb', newText: 'x\r\ny' }, 'x\ry\rc\r'],
    ['lone CR, within one line', 'a\rb\rc', { oldText: 'b', newText: 'x\ny' }, 'a\rx\ry\rc'],
    ['LF, asked for with CRLF', 'a\nb\nc\n', { oldText: 'a\r\nb', newText: 'x\r\ny' }, 'x\ny\nc\n'],
    ['mixed, over several lines', 'a\r\nb\nc\rd\n', { oldText: 'a\nb\nc\nd', newText: 'a\nB\nc\nD' }, 'a\r\nB\nc\rD\n'],
    ['mixed, with a new line', 'a\nb\r\nc\n', { oldText: 'c', newText: 'c\nd' }, 'a\nb\r\nc\r\nd\n'],
    ['lone CR everywhere', 'x\ry\rx\r', { oldText: 'x\n', newText: 'z\n', replaceAll: true }, 'z\ry\rz\r'],
    ['changed to LF on request', 'a\r\nb\r\n', { oldText: 'a\r\nb\r\n', newText: 'a\nb\n' }, 'a\nb\n'],
    ['a CR that is data in new text', 'a\nb\n', { oldText: 'b', newText: '10%\r20%' }, 'a\n10%\r20%\n'],
  ])('line ends: %s', async (_name, content, change, expected) => {
    expect((await edit(content, change)).after.toString()).toBe(expected);
  });

  test('lines that end with a lone CR are counted', async () => {
    const { answer } = await edit('a\rb\rc\r', { oldText: 'c', newText: 'd' });
    expect(answer.output).toBe('Replaced 1 occurrence at line 3.');
  });

  test.each([
    ['UTF-8 with a byte-order mark', (text: string) => Buffer.from(`\ufeff${text}`)],
    ['UTF-16 little endian', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['UTF-16 big endian', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
    ['Latin-1', (text: string) => Buffer.from(text, 'latin1')],
  ])('%s stays what it is', async (_name, encode) => {
    const { after } = await edit(encode('grün\nälter\n'), { oldText: 'älter', newText: 'jünger' });
    expect(after.equals(encode('grün\njünger\n'))).toBe(true);
  });

  test('bytes behind a byte-order mark that are no UTF-8 survive', async () => {
    const bytes = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('a \xfc b', 'latin1')]);
    const { after } = await edit(bytes, { oldText: 'b', newText: 'c' });
    expect(after.toString('latin1')).toBe('\xef\xbb\xbfa \xfc c');
  });

  test('an odd last byte is not lost', async () => {
    const bytes = Buffer.concat([Buffer.from('\ufeffab', 'utf16le'), Buffer.from([0x63])]);
    const { after, answer } = await edit(bytes, { oldText: 'a', newText: 'x' });
    expect(answer.isError).toBe(true);
    expect(after.equals(bytes)).toBe(true);
  });

  test('signs that windows-1252 has beside Latin-1 are written as its bytes', async () => {
    const { after } = await edit(Buffer.from('5 \xfc \x93\x81', 'latin1'), { oldText: '5', newText: '5 €' });
    expect(after.toString('latin1')).toBe('5 \x80 \xfc \x93\x81');
  });

  test('text that windows-1252 cannot hold turns the file into UTF-8', async () => {
    const { after } = await edit(Buffer.from('5 \xfc', 'latin1'), { oldText: '5', newText: '5 你' });
    expect(after.toString('utf8')).toBe('5 你 ü');
  });

  test('a binary file is not edited', async () => {
    const bytes = Buffer.from([0x61, 0, 0xff, 0x62]);
    const { after, answer } = await edit(bytes, { oldText: 'a', newText: 'b' });
    expect(answer.output).toBe('This is a binary file, so it is not edited.');
    expect(after.equals(bytes)).toBe(true);
  });
});

describe('empty oldText', () => {
  test('creates a new file with its folders', async () => {
    await using files = await fileTools();
    const answer = await files.call('edit_file', { path: 'a/b.txt', oldText: '', newText: 'new\n' });
    expect(answer).toMatchObject({ title: 'created a/b.txt', output: 'Created.', metadata: { size: 4 } });
    expect(await readFile(join(files.workspace, 'a/b.txt'), 'utf8')).toBe('new\n');
  });

  test.each(['old', ''])('is refused for a file that holds %j', async (content) => {
    const { after, answer } = await edit(content, { oldText: '', newText: 'new' });
    expect(answer.output).toContain('oldText is empty, which is for new files only');
    expect(after.toString()).toBe(content);
  });

  test('is refused for a directory', async () => {
    await using files = await fileTools();
    await mkdir(join(files.workspace, 'sub'));
    const answer = await files.call('edit_file', { path: 'sub', oldText: '', newText: 'x' });
    expect(answer.output).toBe('Refused: sub is a directory; a file was expected.');
  });
});

describe('what is not edited', () => {
  const change = { oldText: 'a', newText: 'b' };

  test('a missing file', async () => {
    await using files = await fileTools();
    expect((await files.call('edit_file', { path: 'no.txt', ...change })).output).toBe('no.txt does not exist.');
  });

  test('a file that changed after it was read', async () => {
    await using files = await fileTools({ beforeWrite: (path) => writeFile(path, 'a and what somebody else wrote') });
    const path = await files.put('a.txt', 'a');
    const answer = await files.call('edit_file', { path: 'a.txt', ...change });
    expect(answer.output).toBe('a.txt changed after it was read. Read it again before you change it.');
    expect(await readFile(path, 'utf8')).toBe('a and what somebody else wrote');
  });

  test('the configuration, also behind a link', async () => {
    await using files = await fileTools();
    await symlink('../config.json', join(files.workspace, 'link'));
    for (const path of ['../config.json', 'link']) {
      const answer = await files.call('edit_file', { path, oldText: 'true', newText: 'false' });
      expect(answer.output).toMatch(/^Refused: /u);
    }
    expect(await readFile(join(files.home, 'config.json'), 'utf8')).toBe('{"secret":true}');
  });

  test('a file over 50 MB', async () => {
    await using files = await fileTools();
    const handle = await open(join(files.workspace, 'huge.log'), 'w');
    await handle.truncate(50 * 1024 * 1024 + 1);
    await handle.close();
    expect((await files.call('edit_file', { path: 'huge.log', ...change })).output).toContain('over 50 MB');
  });

  test('a file that shapes the assistant, without a yes, once strangers’ text is around', async () => {
    await using files = await fileTools();
    const path = await files.put('AGENTS.md', 'a');
    const context = { taint: { untrusted: true, private: false } };
    const approve = async (): Promise<{ approved: false; reason: string }> => ({ approved: false, reason: 'no' });
    await files.call('edit_file', { path: 'AGENTS.md', ...change }, { ...context, approve });
    expect(await readFile(path, 'utf8')).toBe('a');
    await files.call('edit_file', { path: 'AGENTS.md', ...change }, context);
    expect(await readFile(path, 'utf8')).toBe('b');
    expect(files.asked).toMatchObject([{ title: 'Change a file', detail: expect.stringContaining(path) }]);
  });

  test('anything twice after a crash: it counts as an effect', async () => {
    await using files = await fileTools();
    expect(files.registry.effectOf('edit_file')).toBe('effect');
  });
});
