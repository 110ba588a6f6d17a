import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { childEnvironment } from '../support/child-environment.ts';
import { tempFolder } from '../support/temp.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const APP = join(ROOT, 'src', 'app.ts');
const run = promisify(execFile);

/** The example of docs/library.md. */
async function example(): Promise<string> {
  const page = await readFile(join(ROOT, 'docs', 'library.md'), 'utf8');
  const blocks = [...page.matchAll(/^```ts\n(?<code>[\s\S]*?)^```$/gmu)].map(({ groups }) => groups?.['code'] ?? '');
  expect(blocks).toHaveLength(1);
  return blocks.join('');
}

test('the example of docs/library.md has the right types', async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, 'example.ts'), await example());
  const tsconfig = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      typeRoots: [join(ROOT, 'node_modules', '@types')],
      paths: { assistantd: [APP] },
      rewriteRelativeImportExtensions: false,
    },
    include: [],
    files: [join(folder.path, 'example.ts')],
  };
  await writeFile(join(folder.path, 'tsconfig.json'), JSON.stringify(tsconfig));
  await writeFile(join(folder.path, 'package.json'), '{"type": "module"}');
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
  const { stdout } = await run(tsc, ['-p', folder.path]).catch((error: { readonly stdout: string }) => error);
  expect(stdout).toBe('');
}, 120_000);

test('the example of docs/library.md runs', async () => {
  await using folder = await tempFolder();
  const file = join(folder.path, 'example.mts');
  await writeFile(file, (await example()).replace("'assistantd'", JSON.stringify(pathToFileURL(APP).href)));
  const { stdout } = await run(process.execPath, [file], {
    env: childEnvironment({ ASSISTANT_HOME: join(folder.path, 'home'), HOME: folder.path }),
  });
  expect(stdout).toMatch(/^answered [\s\S]*write_file is done/u);
  expect(stdout.split('\n').filter((line) => /^(?:tool|end) /u.test(line))).toEqual(['tool read_file', 'end answered']);
  expect(await readFile(join(folder.path, 'home', 'workspace', 'greeting.txt'), 'utf8')).toBe('hello');
});
