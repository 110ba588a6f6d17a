import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of a module of our own that is started or required by its file: its source, or its bundle in the published package. */
export function runnableFile(source: URL): string {
  const path = fileURLToPath(source);
  return existsSync(path) ? path : path.replace(/\.ts$/u, '.js');
}
