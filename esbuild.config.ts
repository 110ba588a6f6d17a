import { chmod, copyFile, rm } from 'node:fs/promises';
import { build } from 'esbuild';

/** Builds the published package into `dist/`: one split, minified bundle, so that a start reads few small files. */
await rm('dist', { recursive: true, force: true });
const result = await build({
  entryPoints: ['src/main.ts', 'src/app.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  minify: true,
  keepNames: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  metafile: true,
  legalComments: 'linked',
  // CommonJS packages inside an ES module bundle still call require for Node's own modules.
  banner: {
    js: "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);",
  },
});
await copyFile('src/launcher.cjs', 'dist/launcher.cjs');
await chmod('dist/launcher.cjs', 0o755);
const bytes = Object.values(result.metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
process.stdout.write(`dist/: ${Object.keys(result.metafile.outputs).length} files, ${Math.round(bytes / 1024)} KiB\n`);
