import type { SearchQuery } from './retriever.ts';

/** Stands for no session in a list of them; each has a colon in its name. */
const OWN = '-';

/** Which rows `d` of the documents a scope leaves, with the values of its question marks. */
export function scopeCondition(scope: SearchQuery['scope']): {
  readonly sql: string;
  readonly values: readonly string[];
} {
  if (scope === 'all') return { sql: 'true', values: [] };
  const sessions = JSON.stringify(scope.map((session) => session ?? OWN));
  return { sql: `ifnull(d.session, '${OWN}') IN (SELECT value FROM json_each(?))`, values: [sessions] };
}
