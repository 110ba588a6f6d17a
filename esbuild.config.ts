import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Metafile } from 'esbuild';
import { REPLACED } from './packages.config.ts';
import { buildPage, type PageBuild } from './page.config.ts';

const ROOT = import.meta.dirname;

/** Threads and child processes of their own. */
const WORKERS = [
  'src/core/storage/checkpoint-worker.ts',
  'src/core/memory/search/search-worker.ts',
  'src/extensions/files/documents/document-child.ts',
  'src/extensions/files/search/find-worker.ts',
  // Those of extensions.
  ...globSync('src/extensions/*/*-{child,worker}.ts', { cwd: ROOT }),
];

/**
 * Writes what esbuild leaves in regular expressions as escapes too. A single letter beyond Latin-1 doubles what V8 keeps
 * of a file's text. Throws for one in `String.raw`, which would read otherwise.
 */
function asLatin(path: string, text: string): string {
  if (/String\.raw`[^`]*[\u0100-\uffff]/u.test(text))
    throw new Error(`${path}: String.raw with a letter beyond Latin-1`);
  return text.replaceAll(/[^\0-\xff]/gu, (letter) =>
    letter
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Bundles these and what they need into a folder, which is emptied before. */
async function bundle(entries: readonly string[], outdir: string): Promise<Metafile> {
  await rm(outdir, { recursive: true, force: true });
  const { metafile, outputFiles } = await build({
    entryPoints: [...entries, ...WORKERS],
    absWorkingDir: ROOT,
    entryNames: '[name]',
    outdir,
    bundle: true,
    splitting: true,
    // Names stay as they are: to give minified functions theirs back took a tenth of the processor time of a start.
    minifySyntax: true,
    minifyWhitespace: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // jsonc-parser's main is a UMD file that a bundler cannot follow.
    mainFields: ['module', 'main'],
    metafile: true,
    write: false,
    plugins: [...REPLACED],
    // LICENSES.txt has them whole.
    legalComments: 'none',
    // CommonJS packages inside an ES module bundle still call require for Node's own modules.
    banner: {
      js: "import { createRequire as createRequireForBundle } from 'node:module'; const require = createRequireForBundle(import.meta.url);",
    },
  });
  await mkdir(outdir, { recursive: true });
  for (const { path, text } of outputFiles) await writeFile(path, asLatin(path, text));
  return metafile;
}

/** Packages that a bundled one uses when they are there: speed and colours, nothing that is needed. */
const OPTIONAL = new Set(['bufferutil', 'pg-native', 'supports-color', 'utf-8-validate', 'zlib-sync']);

/** Throws when the bundle would look for a package beside itself: it is installed alone. */
function requireWhole({ outputs }: Metafile): void {
  const outside = Object.values(outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external, path }) => external === true && !isBuiltin(path) && !OPTIONAL.has(path))
    .map(({ path }) => path);
  if (outside.length > 0) throw new Error(`not in the bundle: ${[...new Set(outside)].join(', ')}`);
}

/** Folders of the packages of which the bundles have something, in order. */
function packagesIn(metafiles: readonly Metafile[]): readonly string[] {
  const inputs = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const folders = inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(input)?.[0] ?? []);
  return [...new Set(folders)].toSorted();
}

/**
 * The licences of all packages in the bundles, as their files say. One without such a file has to declare MIT, whose
 * text is then given with the author that it names. Throws for any other.
 */
async function licencesOf(...metafiles: readonly Metafile[]): Promise<string> {
  const own = await readFile(join(ROOT, 'LICENSE'), 'utf8');
  const texts = packagesIn(metafiles).map(async (folder) => {
    const facts = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8')) as PackageFacts;
    const title = `${facts.name} ${facts.version} (${typeof facts.license === 'string' ? facts.license : 'see below'})`;
    const names = (await readdir(join(ROOT, folder))).filter((name) => /^(?:licen[cs]e|copying|notice)/iu.test(name));
    const files = await Promise.all(names.map((name) => readFile(join(ROOT, folder, name), 'utf8')));
    if (files.length === 0 && facts.license !== 'MIT') throw new Error(`${folder} has no licence file`);
    const author =
      typeof facts.author === 'string' ? facts.author : (facts.author?.name ?? `the authors of ${facts.name}`);
    const text = files.length > 0 ? files.join('\n\n') : own.replace(/^Copyright .*$/mu, `Copyright (c) ${author}`);
    return `${'='.repeat(100)}\n${title}\n${'='.repeat(100)}\n\n${text.trim()}\n`;
  });
  return `The program contains these packages.\n\n${(await Promise.all(texts)).join('\n')}`;
}

interface PackageFacts {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly author?: string | { readonly name?: string };
}

async function writePage({ files }: PageBuild, folder: string): Promise<void> {
  for (const { path, body } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), body);
  }
}

/** Removes the declarations that nothing reaches from the package's own. */
async function keepReachable(types: string): Promise<void> {
  const kept = new Set<string>();
  const visit = async (file: string): Promise<void> => {
    if (kept.has(file)) return;
    kept.add(file);
    const text = await readFile(file, 'utf8');
    for (const [, path = ''] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)\.ts['"]/gu)) {
      await visit(`${join(dirname(file), path)}.d.ts`);
    }
  };
  await visit(join(types, 'app.d.ts'));
  for (const name of await readdir(types, { recursive: true })) {
    const file = join(types, name);
    if (name.endsWith('.d.ts') && !kept.has(file)) await rm(file);
  }
}

/**
 * Builds what runs of the published package into a folder, which is emptied before: one split, minified bundle, so that
 * a start reads few small files, the page, the launcher and the licences. `extra`: further entries of the bundle.
 */
export async function buildProgram(outdir: string, extra: readonly string[] = []): Promise<Metafile> {
  const program = await bundle(['src/main.ts', 'src/app.ts', ...extra], outdir);
  requireWhole(program);
  const page = await buildPage();
  await writePage(page, join(outdir, 'page'));
  const launcher = join(outdir, 'launcher.cjs');
  await copyFile(join(ROOT, 'src/launcher.cjs'), launcher);
  await chmod(launcher, 0o755);
  await writeFile(join(outdir, 'LICENSES.txt'), await licencesOf(program, page.metafile));
  return program;
}

/** Builds the published package, which has its types too, into `dist/` or the folder given as argument. */
if (import.meta.main) {
  const outdir = process.argv[2] ?? 'dist';
  const { outputs } = await buildProgram(outdir);
  const types = join(outdir, 'types');
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--outDir', types]);
  await keepReachable(types);
  const bytes = Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
  process.stdout.write(`${outdir}: ${Object.keys(outputs).length} files, ${Math.round(bytes / 1024)} KiB\n`);
}
