import { readFileSync } from 'node:fs';
import { packageFile } from './package-file.ts';

/** The version of this package, e.g. `0.1.0`. */
export function readVersion(): string {
  const path = packageFile('package.json');
  const facts: unknown = path === undefined ? {} : JSON.parse(readFileSync(path, 'utf8'));
  if (typeof facts !== 'object' || facts === null || !('version' in facts)) return 'unknown';
  return String(facts.version);
}
