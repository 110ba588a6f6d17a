import { createHash } from 'node:crypto';

/**
 * SHA-256, in hex, of everything that an approval covers. Equal exactly when all of it is equal; the order of keys does not
 * matter. `bound` is plain JSON data; a field that is undefined counts as left out.
 */
export function approvalHash(bound: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(canonical(bound)).digest('hex');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`);
  return `{${fields.join(',')}}`;
}
