import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';
import { packagesOf, unexported } from './declarations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

test('each type that a signature of the package mentions can be imported by its name, and they need zod alone', async () => {
  await using folder = await tempFolder();
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--outDir', folder.path], { cwd: ROOT });
  const missing = unexported(join(folder.path, 'app.d.ts'));
  expect(missing.map((line) => line.replace(folder.path, 'src'))).toEqual([]);
  expect(packagesOf(join(folder.path, 'app.d.ts')).filter((name) => !name.startsWith('node:'))).toEqual(['zod']);
});

test('a type that is not passed on is found, through others, aliases and files that pass everything on', async () => {
  await using folder = await tempFolder();
  const files = {
    'app.d.ts':
      "import type { A } from './a.ts';\nexport type * from './b.ts';\nexport declare function open(a: A): void;\n",
    'a.d.ts': "import type { Deep as D } from './c.ts';\nexport interface A {\n    readonly deep: D;\n}\n",
    'b.d.ts': "export type { A } from './a.ts';\n",
    'c.d.ts':
      "/** Not { Hidden }. */\nexport type Deep = 'Other' | { readonly own: Hidden };\ninterface Hidden {\n    x: 1;\n}\n",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text);
  expect(unexported(join(folder.path, 'app.d.ts')).map((line) => line.replace(`${folder.path}/`, ''))).toEqual([
    'Deep of c.d.ts, mentioned by A',
    'Hidden of c.d.ts, mentioned by Deep',
  ]);
});
