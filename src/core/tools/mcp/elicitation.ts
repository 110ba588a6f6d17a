import { oneLine } from '../../util/text.ts';

/** A question that an MCP server asks the user during a call. */
export interface Elicitation {
  readonly message: string;
  /** The default of each field that has one; sent as the answer when the person agrees. */
  readonly suggested: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  /** Names of the required fields without a default. */
  readonly missing: readonly string[];
}

const LONGEST_MESSAGE = 600;

/** Reads the parameters of an `elicitation/create` request in form mode. */
export function readElicitation(params: {
  readonly message: string;
  readonly requestedSchema: {
    readonly properties: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
}): Elicitation {
  const { properties, required = [] } = params.requestedSchema;
  const defaults = Object.entries(properties).flatMap(([name, field]) => {
    const value = typeof field === 'object' && field !== null && 'default' in field ? field.default : undefined;
    return isAnswer(value) ? [[name, value] as const] : [];
  });
  const suggested = Object.fromEntries(defaults);
  const missing = required.filter((name) => !Object.hasOwn(suggested, name));
  return { message: oneLine(params.message, LONGEST_MESSAGE), suggested, missing };
}

function isAnswer(value: unknown): value is string | number | boolean | readonly string[] {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
