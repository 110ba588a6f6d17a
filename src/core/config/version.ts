import { readFileSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The version of this package, e.g. `0.1.0`. */
export function readVersion(): string {
  const path = packageFile('package.json');
  const facts: unknown = path === undefined ? {} : JSON.parse(readFileSync(path, 'utf8'));
  if (typeof facts !== 'object' || facts === null || !('version' in facts)) return 'unknown';
  return String(facts.version);
}

/** The path of something that ships beside the code: three folders up from the source, one from the bundle. */
export function packageFile(name: string): string | undefined {
  const up = import.meta.url.endsWith('.ts') ? '../../../' : '../';
  const path = fileURLToPath(new URL(up + name, import.meta.url));
  return existsSync(path) ? path : undefined;
}
