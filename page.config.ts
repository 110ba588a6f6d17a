import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';

const PAGE = join(import.meta.dirname, 'src', 'page');

/** A file of the page as it is served. */
export interface PageFile {
  /** Below the root of the server, such as `index.html` or `assets/main-4KQ2.js`. */
  readonly path: string;
  readonly mediaType: string;
  readonly body: Uint8Array;
}

export interface PageBuild {
  readonly files: readonly PageFile[];
  /** What went into it. */
  readonly metafile: Metafile;
  /** Source maps by the path of their file, when asked for. */
  readonly maps: ReadonlyMap<string, string>;
}

/** Builds the page in memory. Throws when it does not compile. */
export async function buildPage({ mapped = false } = {}): Promise<PageBuild> {
  const { outputFiles, metafile } = await build({
    entryPoints: { main: join(PAGE, 'main.tsx'), page: join(PAGE, 'page.css') },
    absWorkingDir: import.meta.dirname,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    outdir: 'assets',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    write: false,
    metafile: true,
    legalComments: 'none',
    ...(mapped ? { sourcemap: 'external', sourceRoot: PAGE } : {}),
  });
  const placeOf = (path: string): string => `assets/${path.slice(path.lastIndexOf('/') + 1)}`;
  const maps = outputFiles.filter(({ path }) => path.endsWith('.map'));
  const assets = outputFiles
    .filter((file) => !maps.includes(file))
    .map(({ path, contents }) => ({
      path: placeOf(path),
      mediaType: path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      body: contents,
    }));
  const named = (pattern: RegExp): string => assets.find(({ path }) => pattern.test(path))?.path ?? '';
  const html = (await readFile(join(PAGE, 'index.html'), 'utf8'))
    .replace('{{style}}', `/${named(/page-[^/]*\.css$/u)}`)
    .replace('{{script}}', `/${named(/main-[^/]*\.js$/u)}`);
  const files: readonly PageFile[] = [
    { path: 'index.html', mediaType: 'text/html; charset=utf-8', body: Buffer.from(html) },
    {
      path: 'manifest.webmanifest',
      mediaType: 'application/manifest+json',
      body: await readFile(join(PAGE, 'manifest.webmanifest')),
    },
    { path: 'icon.svg', mediaType: 'image/svg+xml', body: await readFile(join(PAGE, 'icon.svg')) },
    ...assets,
  ];
  return { files, metafile, maps: new Map(maps.map(({ path, text }) => [placeOf(path).slice(0, -4), text])) };
}
