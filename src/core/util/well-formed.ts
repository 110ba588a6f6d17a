/** A half of a surrogate pair in JSON, which escapes no other character of that range. */
const HALF_CHARACTER = /\\ud[89a-f][0-9a-f]{2}/u;

/**
 * The value with U+FFFD for each half of a surrogate pair in its texts and keys: SQLite stores such halves as something
 * else, and most APIs refuse them. Values without one are returned as they are. `value`: what JSON can hold.
 */
export function wellFormed<Value extends object>(value: Value): Value {
  const json = JSON.stringify(value);
  return HALF_CHARACTER.test(json) ? JSON.parse(json, repaired) : value;
}

function repaired(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), item]));
}
