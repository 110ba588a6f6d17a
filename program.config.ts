import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { rolldown, type OutputAsset, type OutputChunk, type Plugin } from 'rolldown';
import { REPLACED } from './packages.config.ts';
import { buildPage, type PageBuild } from './page.config.ts';
import { commandsOf } from './src/cli/table/table.ts';
import { programOf } from './src/core/program.ts';
import { EXTENSIONS } from './src/extensions/index.ts';

const ROOT = import.meta.dirname;

/** Threads, child processes of their own, and what is required without an import. */
const WORKERS = [
  'src/core/storage/checkpoint-worker.ts',
  'src/core/memory/search/search-worker.ts',
  'src/extensions/files/documents/document-child.ts',
  'src/extensions/files/search/find-worker.ts',
  'src/cli/complete.ts',
  'src/core/tools/zod3-schema.ts',
  // Those of extensions.
  ...globSync('src/extensions/*/*-{child,worker}.ts', { cwd: ROOT }),
];

/** Packages that a bundled one uses when they are there: speed and colours, nothing that is needed. */
const OPTIONAL = new Set(['bufferutil', 'pg-native', 'supports-color', 'utf-8-validate', 'zlib-sync']);

/** What belongs together in one file each: what every command loads, what most load besides, what a gateway always loads besides. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = {
  main: ['src/main.ts'],
  command: [
    'src/core/storage/append-file.ts',
    'src/core/storage/log-file.ts',
    'src/core/storage/read-lines.ts',
    'src/core/util/backoff.ts',
    'src/core/util/bare-json.ts',
    'src/core/util/version-line.ts',
    'src/core/util/wake.ts',
    'src/cli/assistant/status.ts',
    'src/cli/config.ts',
    'src/core/gateway/control-client.ts',
    'src/core/gateway/control.ts',
    'src/core/start/home-at-rest.ts',
  ],
  // A chat in the terminal needs it too.
  text: [
    'src/core/channels/markup/parser.ts',
    'src/core/channels/markup/inline.ts',
    'src/core/security/redact/redact.ts',
  ],
  start: [
    'src/app.ts',
    'src/cli/assistant/gateway.ts',
    'src/core/gateway/http/server.ts',
    'src/core/gateway/feed/feed.ts',
    'src/core/gateway/http/web-draft.ts',
    'src/extensions/cron/schedule-service.ts',
    'src/extensions/demo/demo.ts',
    'src/extensions/heartbeat/heartbeat.ts',
    'src/extensions/webhooks/route.ts',
    // The browser is off by default.
    ...globSync('src/extensions/!(browser)/open.ts', { cwd: ROOT }),
  ],
};

/**
 * Finds which file of `TOGETHER` a module belongs to: the first whose modules import it statically. Split by who else imports
 * what, a start would be two hundred files with five imports each, and resolving those took a seventh of it.
 */
function togetherness(): { readonly plugin: Plugin; readonly fileOf: (id: string) => string | null } {
  const files = new Map<string, string>();
  return {
    fileOf: (id) => files.get(id) ?? null,
    plugin: {
      name: 'together',
      buildEnd() {
        for (const [file, paths] of Object.entries(TOGETHER)) {
          const reached = new Set(paths.map((path) => join(ROOT, path)));
          for (const id of reached) {
            const found = this.getModuleInfo(id);
            // An entry does what it is for when its file is loaded, so only what it imports may lie with others.
            if (found?.isEntry === false && !files.has(id)) files.set(id, file);
            for (const imported of found?.importedIds ?? []) reached.add(imported);
          }
        }
      },
    },
  };
}

/**
 * Writes letters beyond Latin-1 as escapes. A single one doubles what V8 keeps of a file's text. Throws for one in
 * `String.raw`, which would read otherwise.
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

/** What a bundler has written. */
export type Bundled = readonly (OutputAsset | OutputChunk)[];

/** Bundles these and what they need into a folder. */
async function bundle(
  entries: readonly string[],
  outdir: string,
  { plugin, fileOf }: Partial<ReturnType<typeof togetherness>> = {},
): Promise<Bundled> {
  const input = entries.map((path) => [basename(path, '.ts'), join(ROOT, path)]);
  await using build = await rolldown({
    input: Object.fromEntries(input) as Record<string, string>,
    cwd: ROOT,
    platform: 'node',
    // jsonc-parser's main is a UMD file that a bundler cannot follow.
    resolve: { mainFields: ['module', 'main'] },
    external: [...OPTIONAL],
    plugins: [...REPLACED, plugin],
    preserveEntrySignatures: 'allow-extension',
    logLevel: 'silent',
  });
  const { output } = await build.generate({
    dir: outdir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    assetFileNames: '[name]-[hash][extname]',
    // LICENSES.txt has them whole.
    comments: false,
    // Others are checked at each use for whether they have a value yet.
    topLevelVar: true,
    // Names stay as they are: stack traces and logs of a person can be read.
    minify: { compress: true, mangle: false, codegen: true },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: fileOf === undefined ? [] : [{ name: fileOf }],
    },
  });
  await mkdir(outdir, { recursive: true });
  for (const file of output) {
    const path = join(outdir, file.fileName);
    await writeFile(path, file.type === 'chunk' ? asLatin(path, file.code) : file.source);
  }
  return output;
}

/** Throws when the bundle would look for a package beside itself: it is installed alone. */
function requireWhole(bundled: Bundled): void {
  const own = new Set(bundled.map(({ fileName }) => fileName));
  const outside = bundled
    .flatMap((file) => (file.type === 'chunk' ? [...file.imports, ...file.dynamicImports] : []))
    .filter((path) => !own.has(path) && !isBuiltin(path) && !OPTIONAL.has(path));
  if (outside.length > 0) throw new Error(`not in the bundle: ${[...new Set(outside)].join(', ')}`);
}

/** Folders of the packages that these files are of, in order. */
function packagesOf(files: readonly string[]): readonly string[] {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/u.exec(relative(ROOT, file))?.[0] ?? []);
  return [...new Set(folders)].toSorted();
}

/**
 * The licences of all packages that these files are of, as their own files say. One without such a file has to declare MIT, whose
 * text is then given with the author that it names. Throws for any other.
 */
async function licencesOf(files: readonly string[]): Promise<string> {
  const own = await readFile(join(ROOT, 'LICENSE'), 'utf8');
  const texts = packagesOf(files).map(async (folder) => {
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

function modulesOf(bundled: Bundled): readonly string[] {
  return bundled.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
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
 * Builds what runs of the published package into a folder, which is emptied before: one split, minified bundle, of
 * which a start reads few files, the page, the launcher and the licences. `extra`: further entries of the bundle.
 */
export async function buildProgram(outdir: string, extra: readonly string[] = []): Promise<Bundled> {
  await rm(outdir, { recursive: true, force: true });
  // Apart: else a thread would load the whole file of the start for one function in it.
  const program = [
    ...(await bundle(['src/main.ts', 'src/app.ts', ...extra], outdir, togetherness())),
    ...(await bundle(WORKERS, outdir)),
  ];
  requireWhole(program);
  await writeFile(join(outdir, 'commands.json'), JSON.stringify(commandsOf(programOf(EXTENSIONS))));
  const page = await buildPage();
  await writePage(page, join(outdir, 'page'));
  const launcher = join(outdir, 'launcher.cjs');
  await copyFile(join(ROOT, 'src/launcher.cjs'), launcher);
  await chmod(launcher, 0o755);
  await writeFile(
    join(outdir, 'LICENSES.txt'),
    await licencesOf([...modulesOf(program), ...Object.keys(page.metafile.inputs)]),
  );
  return program;
}

/** Builds the published package, which has its types too, into `dist/` or the folder given as argument. */
if (import.meta.main) {
  const outdir = process.argv[2] ?? 'dist';
  const bundled = await buildProgram(outdir);
  const types = join(outdir, 'types');
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--outDir', types]);
  await keepReachable(types);
  const bytes = bundled.reduce((sum, file) => sum + (file.type === 'chunk' ? file.code : file.source).length, 0);
  process.stdout.write(`${outdir}: ${bundled.length} files, ${Math.round(bytes / 1024)} KiB\n`);
}
