import { rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import threads from 'node:worker_threads';
import { buildSync } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = [
  'src/core/storage/checkpoint-worker.ts',
  'src/core/memory/search/search-worker.ts',
  'src/extensions/files/search/find-worker.ts',
];

/**
 * Set up before each file of the fast suite: a thread of the program starts from one file with what it needs, as in the
 * published package. From source each start reads and translates up to a hundred files, for a third of a second.
 */
const flag = Symbol.for('assistant.test.built-threads');
if (!Reflect.has(threads, flag)) {
  const { Worker } = threads;
  let folder: string | undefined;
  const built = (file: string | URL): string | URL => {
    const source = SOURCES.find((path) => pathToFileURL(join(ROOT, path)).href === String(file));
    if (source === undefined) return file;
    return join((folder ??= build()), basename(source).replace(/\.ts$/u, '.js'));
  };
  class BuiltWorker extends Worker {
    constructor(file: string | URL, options?: threads.WorkerOptions) {
      super(built(file), options);
    }
  }
  Object.assign(threads, { [flag]: true, Worker: BuiltWorker });
  syncBuiltinESMExports();
}

function build(): string {
  const outdir = join(ROOT, 'node_modules', '.cache', 'assistant-test', `threads.${process.pid}`);
  const entryPoints = SOURCES.map((path) => join(ROOT, path));
  buildSync({ entryPoints, outdir, entryNames: '[name]', bundle: true, platform: 'node', format: 'esm' });
  process.once('exit', () => rmSync(outdir, { recursive: true, force: true }));
  return outdir;
}
