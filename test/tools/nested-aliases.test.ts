import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileTools } from '../support/file-tools.ts';

test('the edits of apply_patch may have the parameter names of other programs', async () => {
  await using tools = await fileTools();
  await tools.put('a.md', 'one two');
  const edits = [{ file_path: 'a.md', old_string: 'one', new_string: 'three' }];
  const result = await tools.call('apply_patch', { edits });
  expect(result.isError).not.toBe(true);
  expect(await readFile(join(tools.workspace, 'a.md'), 'utf8')).toBe('three two');
});

test.each(['file_path', 'filePath', 'target_file', 'targetFile', 'absolutePath', 'filename'])(
  'the path of read_file may be called %s',
  async (name) => {
    await using tools = await fileTools();
    await tools.put('a.md', 'one two');
    const result = await tools.call('read_file', { [name]: 'a.md' });
    expect(result.output).toContain('one two');
  },
);

test.each([
  { path: 'a.md', old_string: 'one', newString: 'three', replace_all: true },
  { filePath: 'a.md', oldStr: 'one', new_text: 'three', replaceAll: true },
])('each name may be in snake_case and in camelCase: %j', async (edit) => {
  await using tools = await fileTools();
  await tools.put('a.md', 'one one');
  await tools.call('edit_file', edit);
  expect(await readFile(join(tools.workspace, 'a.md'), 'utf8')).toBe('three three');
});
