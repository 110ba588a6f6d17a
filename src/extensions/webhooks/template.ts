import { boundaryFor, cut, fence } from '../../core/api.ts';

/** Characters of one value, and of all values of a message. */
const LONGEST_VALUE = 4_000;
const MOST_CHARS = 40_000;

/** `{{path.to.field}}` */
const FIELD = /\{\{ *(?<path>[\w$@-]+(?:\.[\w$@-]+)*) *\}\}/gu;

/**
 * Fills a template with the fields of a body; without a template the whole body follows one sentence. Each value is fenced as
 * text of others and capped; what looks like a field inside a value stays as it is. A field that is not there is `(nothing)`.
 * `secret`: an id that the caller does not know.
 */
export function messageOf(
  { name, template }: { readonly name: string; readonly template: string | null },
  { body, secret }: { readonly body: string; readonly secret: string },
): string {
  let left = MOST_CHARS;
  const value = (text: string): string => {
    const most = Math.max(0, Math.min(LONGEST_VALUE, left));
    left -= Math.min(text.length, most);
    const shown = text.length <= most ? text : `${cut(text, most)}… (${text.length - most} more characters)`;
    return fence(shown, { source: `webhook ${name}`, boundary: boundaryFor(secret, shown) });
  };
  if (template === null) return `The webhook "${name}" was called with this body:\n${value(body)}`;
  const given = parsed(body);
  return template.replaceAll(FIELD, (_whole, path: string) => {
    const found = at(given, path.split('.'));
    if (found === undefined || found === null || found === '') return '(nothing)';
    return `\n${value(typeof found === 'string' ? found : JSON.stringify(found))}\n`;
  });
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function at(given: unknown, path: readonly string[]): unknown {
  let value: unknown = given;
  for (const key of path) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  }
  return value;
}
