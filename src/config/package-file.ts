import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The path of something that ships beside the code: two folders up from the source, one from the bundle. */
export function packageFile(name: string): string | undefined {
  return ['../../', '../']
    .map((up) => fileURLToPath(new URL(up + name, import.meta.url)))
    .find((path) => existsSync(path));
}
