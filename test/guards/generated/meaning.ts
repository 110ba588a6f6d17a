import { parseAst } from 'vitest/node';

type Part = Readonly<Record<string, unknown>> & { readonly type: string };

/** Of a place in the text, or of how something is written. */
const NOT_MEANT = new Set(['start', 'end', 'raw', 'shorthand']);
const NOTHING: Part = { type: 'EmptyStatement' };

/** The syntax tree of a program without what is never run and what changes nothing, as a text to compare. */
export function meaningOf(text: string): string {
  return JSON.stringify(simplified(parseAst(text, { lang: 'ts' })), (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

function simplified(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .map(simplified)
      .filter((part) => !isIdle(part))
      .flatMap(unwrapped);
  if (!isPart(value)) return value;
  const fields = Object.entries(value).filter(([key]) => !NOT_MEANT.has(key));
  const { type } = value;
  return decided({ type, ...Object.fromEntries(fields.map(([key, field]) => [key, simplified(field)])) });
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** What is decided already when a condition is known. */
function decided(part: Part): unknown {
  const { test, consequent, alternate, operator, left, right } = part;
  switch (part.type) {
    case 'ParenthesizedExpression':
      return part['expression'];
    case 'UnaryExpression':
      if (operator !== '!' || !(isLiteral(part['argument'], true) || isLiteral(part['argument'], false))) return part;
      return { type: 'Literal', value: isLiteral(part['argument'], false) };
    case 'LogicalExpression': {
      const neutral = operator === '&&';
      if (operator === '??') return part;
      if (isLiteral(left, neutral) || isLiteral(right, neutral)) return isLiteral(left, neutral) ? right : left;
      return isLiteral(left, !neutral) ? left : part;
    }
    case 'ConditionalExpression':
      return isLiteral(test, true) ? consequent : isLiteral(test, false) ? alternate : part;
    case 'IfStatement':
      if (isLiteral(test, true)) return { isUnwrapped: true, ...Object(consequent) };
      return isLiteral(test, false) || (alternate === null && isIdle(consequent)) ? (alternate ?? NOTHING) : part;
    case 'ForOfStatement':
      return isIdle(part['body']) ? NOTHING : part;
    default:
      return part;
  }
}

function isLiteral(part: unknown, value: boolean): boolean {
  return isPart(part) && part.type === 'Literal' && part['value'] === value;
}

/** Nothing is done by it: an empty statement, block or spread. */
function isIdle(part: unknown): boolean {
  if (!isPart(part)) return false;
  const { argument, body } = part;
  if (part.type === 'BlockStatement') return Array.isArray(body) && body.length === 0;
  if (part.type !== 'SpreadElement' || !isPart(argument)) return part.type === 'EmptyStatement';
  const inside = argument['elements'] ?? argument['properties'];
  return Array.isArray(inside) && inside.length === 0;
}

/** The statements of a block that is always run. */
function unwrapped(part: unknown): readonly unknown[] {
  return isPart(part) && part['isUnwrapped'] === true && Array.isArray(part['body']) ? part['body'] : [part];
}
