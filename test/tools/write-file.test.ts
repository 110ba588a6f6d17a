import { chmod, mkdir, readFile, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileTools } from '../support/file-tools.ts';

const tainted = { taint: { untrusted: true, private: false } };

describe('writing', () => {
  test('a new file is created with its folders', async () => {
    await using files = await fileTools();
    const answer = await files.call('write_file', { path: 'a/b/c.txt', content: 'one\ntwo\n' });
    expect(answer).toMatchObject({
      title: 'created a/b/c.txt',
      output: 'Created with 2 lines.',
      metadata: { size: 8 },
    });
    expect(await readFile(join(files.workspace, 'a/b/c.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  test('an old file is replaced and keeps its mode', async () => {
    await using files = await fileTools();
    const path = await files.put('run.sh', 'old and longer');
    await chmod(path, 0o750);
    const answer = await files.call('write_file', { path: 'run.sh', content: 'new' });
    expect(answer).toMatchObject({ title: 'replaced run.sh', output: 'Replaced with 1 line.' });
    expect(await readFile(path, 'utf8')).toBe('new');
    expect((await stat(path)).mode & 0o777).toBe(0o750);
  });

  test.each([
    ['nothing', ''],
    ['no final newline', 'a'],
    ['CRLF', 'a\r\nb\r\n'],
    ['many scripts', 'Grüße 你好 😀'],
    ['a NUL character', 'a\0b'],
    ['a byte-order mark', '\ufeffa'],
  ])('content with %s arrives byte for byte', async (_name, content) => {
    await using files = await fileTools();
    await files.call('write_file', { path: 'a.txt', content });
    expect(await readFile(join(files.workspace, 'a.txt'), 'utf8')).toBe(content);
  });

  test('a name in any script is kept', async () => {
    await using files = await fileTools();
    await files.call('write_file', { path: 'Grüße 你好 😀.txt', content: 'x' });
    expect(await readdir(files.workspace)).toEqual(['Grüße 你好 😀.txt']);
  });

  test('an absolute path into the workspace is as good as a relative one', async () => {
    await using files = await fileTools();
    await files.call('write_file', { path: join(files.workspace, 'a.txt'), content: 'x' });
    expect(await readFile(join(files.workspace, 'a.txt'), 'utf8')).toBe('x');
  });

  test('the same call twice gives the same file and leaves nothing else', async () => {
    await using files = await fileTools();
    expect(files.registry.effectOf('write_file')).toBe('idempotent');
    for (let i = 0; i < 2; i += 1) await files.call('write_file', { path: 'a.txt', content: 'x' });
    expect(await readdir(files.workspace)).toEqual(['a.txt']);
  });
});

describe('what is not written', () => {
  test.each([
    ['a directory', 'sub', 'is a directory'],
    ['something below a file', 'file.txt/a', 'not'],
    ['something outside', '../../out.txt', 'outside the workspace'],
    ['the configuration', '../config.json', 'configuration or state'],
    ['a device', '/dev/null', 'not open to tools'],
    ['a link that leads out', 'out', 'outside the workspace'],
    ['a file in a folder behind a link that leads out', 'folder/a.txt', 'outside the workspace'],
    ['a link that leads nowhere', 'nowhere', 'is a broken link'],
    ['a link in circles', 'loop', 'lead in a circle'],
    ['the table of cron jobs', 'cron/jobs.json', 'only changed with the cron tool'],
    ['a name that is too long', 'x'.repeat(300), 'too long'],
  ])('%s', async (_name, path, sentence) => {
    await using files = await fileTools();
    await mkdir(join(files.workspace, 'sub'));
    await files.put('file.txt', 'x');
    await symlink('/tmp/../etc/hostname', join(files.workspace, 'out'));
    await symlink('/etc', join(files.workspace, 'folder'));
    await symlink('missing', join(files.workspace, 'nowhere'));
    await symlink('loop', join(files.workspace, 'loop'));
    const before = await readdir(files.workspace, { recursive: true });
    const answer = await files.call('write_file', { path, content: 'x' });
    expect(answer.isError).toBe(true);
    expect(answer.output).toContain(sentence);
    expect(await readdir(files.workspace, { recursive: true })).toEqual(before);
    expect(await readFile(join(files.home, 'config.json'), 'utf8')).toBe('{"secret":true}');
  });
});

describe('files that shape the assistant', () => {
  const protectedFiles = ['SOUL.md', 'agents.md', 'memory/MEMORY.md', 'skills/x/SKILL.md', '.git/hooks/pre-commit'];

  test.each(protectedFiles)('%s is the owner’s to change without a question', async (path) => {
    await using files = await fileTools();
    expect((await files.call('write_file', { path, content: 'x' })).isError).toBeUndefined();
    expect(files.asked).toEqual([]);
  });

  test.each(protectedFiles)('%s is asked about once strangers’ text is around', async (path) => {
    await using files = await fileTools();
    const answer = await files.call('write_file', { path, content: 'x' }, tainted);
    expect(answer.isError).toBeUndefined();
    expect(files.asked).toMatchObject([
      { title: 'Change a file', detail: expect.stringContaining(join(files.workspace, path)) },
    ]);
    expect(await readFile(join(files.workspace, path), 'utf8')).toBe('x');
  });

  test('a person sees the lines that change, with nothing hidden and none left out', async () => {
    await using files = await fileTools();
    await files.put('SOUL.md', 'kind\nshort\n');
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n}`);
    await files.call('write_file', { path: 'SOUL.md', content: ['kind', 'ev\u202eil', ...lines].join('\n') }, tainted);
    const [, ...shown] = files.asked[0]?.detail.split('\n') ?? [];
    expect(shown.slice(0, 4)).toEqual(['− short', '− ', '+ ev\\u{202e}il', '+ line 0']);
    expect(shown.slice(3)).toEqual(lines.map((line) => `+ ${line}`));
  });

  test('lines of a file that may not be read without a question are not shown', async () => {
    await using files = await fileTools();
    await files.put('.env', 'TOKEN=old');
    await files.call('write_file', { path: '.env', content: 'TOKEN=new' });
    expect(files.asked[0]?.detail).toContain('+ TOKEN=new');
    expect(files.asked[0]?.detail).not.toContain('old');
  });

  test('a yes is for this content and this path: what changed after it is not overwritten by an edit', async () => {
    await using files = await fileTools();
    const path = await files.put('SOUL.md', 'kind old');
    const approve = async (): Promise<{ approved: true }> => {
      await files.put('SOUL.md', 'cruel old');
      return { approved: true };
    };
    const edit = { path: 'SOUL.md', oldText: 'old', newText: 'new' };
    const answer = await files.call('edit_file', edit, { ...tainted, approve });
    expect(answer.output).toContain('changed after it was approved');
    expect(await readFile(path, 'utf8')).toBe('cruel old');
  });

  test('after a no nothing is written', async () => {
    await using files = await fileTools();
    const path = await files.put('SOUL.md', 'old');
    const approve = async (): Promise<{ approved: false; reason: string }> => ({ approved: false, reason: 'no' });
    const answer = await files.call('write_file', { path: 'SOUL.md', content: 'x' }, { ...tainted, approve });
    expect(answer.output).toContain('Not done: no.');
    expect(await readFile(path, 'utf8')).toBe('old');
  });

  test('other files are not asked about', async () => {
    await using files = await fileTools();
    await files.call('write_file', { path: 'notes/SOUL.md', content: 'x' }, tainted);
    expect(files.asked).toEqual([]);
  });

  test('memory is closed to everybody but the owner', async () => {
    await using files = await fileTools();
    const answer = await files.call('write_file', { path: 'memory/a.md', content: 'x' }, { role: 'trusted' });
    expect(answer.output).toContain('private to the owner');
  });
});
