import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Runs many whole assistants in one process, for the bench. Arguments: the library's file, a folder for their homes, how many,
 * and the configuration of each as JSON, in which `{n}` stands for its number. Tells its parent when all run, and answers
 * each of its messages with what the process takes.
 */
const [library = '', folder = '', count = '1', config = '{}'] = process.argv.slice(2);
setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const { createAssistant } = await import(library);
const began = performance.now();
const assistants = [];

/** A few at a time, as a gateway of many homes does. */
const names = Array.from({ length: Number(count) }, (_, at) => at).values();
await Promise.all(
  Array.from({ length: 4 }, async () => {
    for (const at of names) {
      const home = join(folder, `home-${at}`);
      mkdirSync(home, { recursive: true, mode: 0o700 });
      writeFileSync(join(home, 'config.json'), config.replaceAll('{n}', String(at)), { mode: 0o600 });
      assistants.push(await createAssistant({ home, serve: 'gateway', port: 0, logsToFile: true }));
    }
  }),
);
const startedMs = performance.now() - began;
process.send('ready');

function watches() {
  return readdirSync('/proc/self/fdinfo').reduce((sum, fd) => {
    try {
      return sum + readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').split('inotify wd').length - 1;
    } catch {
      return sum;
    }
  }, 0);
}

process.on('message', () => {
  const before = process.memoryUsage();
  gc();
  gc();
  process.send({
    startedMs,
    resident: before.rss,
    memory: process.memoryUsage(),
    threads: readdirSync('/proc/self/task').length,
    files: readdirSync('/proc/self/fd').length,
    watches: watches(),
  });
});
