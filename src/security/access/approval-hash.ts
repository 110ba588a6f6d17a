import { createHash } from 'node:crypto';

/**
 * One value for everything that a yes covers: equal exactly when all of it is equal, whatever the order of its keys.
 * `bound` is plain data; what is undefined counts as left out.
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
