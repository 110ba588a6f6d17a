import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { libraryExample } from '../docs/documents.ts';
import { buildPackage, npm, pack } from '../support/packages.ts';
import { tempFolder } from '../support/temp.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

test('the published package has types of its own, for a plugin, the example of docs/library.md and the programs of examples/', async () => {
  await using folder = await tempFolder();
  const source = join(folder.path, 'source');
  await buildPackage(source);
  await npm(folder.path, 'install', '--global', '--prefix', folder.path, await pack(source));
  const installed = join(folder.path, 'lib', 'node_modules', 'assistantd');
  expect(await readdir(join(installed, 'dist', 'types'))).toContain('app.d.ts');

  const project = join(folder.path, 'project');
  await mkdir(join(project, 'node_modules'), { recursive: true });
  await symlink(installed, join(project, 'node_modules', 'assistantd'));
  for (const name of ['zod', '@types', 'undici-types']) {
    await symlink(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
  }
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(
    join(project, 'plugin.ts'),
    `import { definePlugin, defineTool, z } from 'assistantd';
     const tool = defineTool({
       name: 'dice', description: 'Throws a die.', effect: 'none',
       parameters: z.object({ sides: z.number() }),
       execute: async ({ sides }, context) => ({ title: context.person.role, output: sides.toFixed(), metadata: {} }),
     });
     export default definePlugin({ name: 'dice', tools: [tool] });`,
  );
  await writeFile(join(project, 'example.ts'), libraryExample());
  const programs = ['ask-once', 'own-tool', 'own-provider', 'nightly-report', 'web-chat'];
  for (const name of programs) await cp(join(ROOT, 'examples', name, 'main.ts'), join(project, `${name}.ts`));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    preserveSymlinks: true,
    module: 'nodenext',
    target: 'esnext',
    types: ['node'],
  };
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['plugin.ts', 'example.ts', ...programs.map((name) => `${name}.ts`)] }),
  );
  const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
  const { stdout } = await run(tsc, ['-p', project]).catch((error: { readonly stdout: string }) => error);
  expect(stdout).toBe('');
});
