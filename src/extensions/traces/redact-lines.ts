import type { Redact } from '../../core/api-replay.ts';

/** A copy of plain data without secrets in its texts and in the names of its fields. */
export function redactDeep<T>(value: T, redact: Redact): T {
  return JSON.parse(
    redact(JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? redact(part) : part))),
  );
}

/** A JSON text without secrets. */
export function redactJson(text: string, redact: Redact): string {
  return JSON.stringify(redactDeep<unknown>(JSON.parse(text), redact));
}
