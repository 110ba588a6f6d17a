import { chmod, copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';

/** Threads and child processes of their own. */
const WORKERS = [
  'src/storage/checkpoint-worker.ts',
  'src/memory/search/search-worker.ts',
  'src/tools/documents/document-child.ts',
  'src/tools/files/search/find-worker.ts',
];

/** Bundles these and what they need into a folder, which is emptied before. */
export async function bundle(entries: readonly string[], outdir: string): Promise<Metafile> {
  await rm(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: [...entries, ...WORKERS],
    absWorkingDir: import.meta.dirname,
    entryNames: '[name]',
    outdir,
    bundle: true,
    splitting: true,
    minify: true,
    keepNames: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // jsonc-parser's main is a UMD file that a bundler cannot follow.
    mainFields: ['module', 'main'],
    metafile: true,
    legalComments: 'linked',
    // CommonJS packages inside an ES module bundle still call require for Node's own modules.
    banner: {
      js: "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);",
    },
  });
  return metafile;
}

/** Builds the published package into `dist/`, or the folder given as argument: one split, minified bundle, so that a start reads few small files. */
if (import.meta.main) {
  const outdir = process.argv[2] ?? 'dist';
  const { outputs } = await bundle(['src/main.ts', 'src/app.ts'], outdir);
  await copyFile('src/launcher.cjs', join(outdir, 'launcher.cjs'));
  await chmod(join(outdir, 'launcher.cjs'), 0o755);
  const bytes = Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
  process.stdout.write(`${outdir}: ${Object.keys(outputs).length} files, ${Math.round(bytes / 1024)} KiB\n`);
}
