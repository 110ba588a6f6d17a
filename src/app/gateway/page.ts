import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import * as z from 'zod';
import { packageFile } from '../../core/config/version.ts';
import type { PageFiles } from '../../core/gateway/http/assets.ts';
import { AppError, errorCode } from '../../core/util/errors.ts';

interface Built {
  /** Below the root of the server, such as `index.html` or `assets/main-4KQ2.js`. */
  readonly path: string;
  readonly body: Uint8Array;
}

/** The files of the page: those of the package, or built in memory from a clone. Throws `page-missing`. */
export async function loadPage(): Promise<PageFiles> {
  const built = (await fromPackage(join(import.meta.dirname, 'page'))) ?? (await fromSource());
  const files = await Promise.all(
    built.map(async ({ path, body }) => {
      const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22);
      return [path, { body, gzipped: await promisify(gzip)(body), type: typeOf(path), hash }] as const;
    }),
  );
  const byPath = new Map(files);
  return { get: (path) => byPath.get(path) };
}

/** The folder beside the bundle; undefined where the program runs from its source. */
async function fromPackage(folder: string): Promise<readonly Built[] | undefined> {
  try {
    const found = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return await Promise.all(
      paths.map(async (path) => ({
        path: path.slice(folder.length + 1).replaceAll('\\', '/'),
        body: await readFile(path),
      })),
    );
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

const builder = z.object({ buildPage: z.custom<() => Promise<unknown>>((value) => typeof value === 'function') });
const builtFiles = z.object({ files: z.array(z.object({ path: z.string(), body: z.instanceof(Uint8Array) })) });

async function fromSource(): Promise<readonly Built[]> {
  const config = packageFile('page.config.ts');
  if (config === undefined) {
    throw new AppError('page-missing', 'The page is missing from this installation. Install the package again.');
  }
  // A name that is computed, so that the bundle does not follow it.
  const module: unknown = await import(pathToFileURL(config).href);
  return builtFiles.parse(await builder.parse(module).buildPage()).files;
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  webmanifest: 'application/manifest+json',
};

function typeOf(path: string): string {
  return TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
}
