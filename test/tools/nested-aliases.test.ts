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
