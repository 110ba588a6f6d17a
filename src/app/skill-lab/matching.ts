import type { CallPattern } from '../../core/skills/cases.ts';

/** A call as it is looked at: its tool, and its arguments as parsed JSON. */
export interface SeenCall {
  readonly tool: string;
  readonly arguments: unknown;
}

/** Whether a call is of the pattern's tool and holds all of its arguments. */
export function fits(pattern: CallPattern, call: SeenCall): boolean {
  return pattern.tool === call.tool && holds(call.arguments, pattern.arguments);
}

/**
 * Whether a value holds a part: of a text a piece of it, whatever its case; of a map each key; of a list each item,
 * wherever it stands; anything else must be equal.
 */
function holds(value: unknown, part: unknown): boolean {
  if (typeof part === 'string') return typeof value === 'string' && value.toLowerCase().includes(part.toLowerCase());
  if (Array.isArray(part)) {
    return Array.isArray(value) && part.every((item: unknown) => value.some((one: unknown) => holds(one, item)));
  }
  if (typeof part !== 'object' || part === null) return Object.is(value, part);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(part).every(([key, item]) => holds(Reflect.get(value, key), item));
}
