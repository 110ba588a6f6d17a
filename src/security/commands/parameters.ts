import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash';
import { patternOf, SPLIT, STAR, UNKNOWN } from './marks.ts';
import type { Scope } from './scope.ts';
import { decodeEscapes } from './echo.ts';
import { HOME } from './targets.ts';

/** What the command itself has started, as `kill` names it. */
export const OWN_JOB = '%+';

/** Variables that a shell always has, with values that nobody can know. */
const GIVEN =
  /^(?:PATH|LANG|LC_\w+|TERM|TZ|USER|LOGNAME|SHELL|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|OLDPWD|RANDOM|SRANDOM|SECONDS|EPOCH\w+|LINENO|UID|EUID|GROUPS|PPID|BASH\w*|SHLVL|OPTIND|PIPESTATUS|FUNCNAME|COLUMNS|LINES|[?$#_0-])$/;

/** What a variable may hold. One that is never set is empty: commands start with a cleared environment. */
export function valuesOf(name: string, scope: Scope): readonly string[] {
  if (name === '@' || name === '*') return [scope.positional?.join(SPLIT) ?? UNKNOWN];
  if (/^[1-9]\d*$/.test(name)) {
    if (scope.positional === undefined) return [UNKNOWN];
    return [scope.positional[Number(name) - 1] ?? ''];
  }
  const values = scope.variables.get(name);
  if (values !== undefined) return values;
  if (name === 'HOME') return [HOME];
  if (name === 'PWD') return scope.directories;
  if (name === 'IFS') return [' '];
  if (name === '!') return [OWN_JOB];
  return GIVEN.test(name) || scope.shared.sourced ? [UNKNOWN] : [''];
}

/** `${…}` with its operators. */
export function expandParameter(
  { parameter, prefix, operation }: ParameterExpansionPart,
  scope: Scope,
  expand: (word: Word) => string[],
): readonly string[] {
  if (prefix === '#') return [UNKNOWN];
  const values = valuesOf(parameter, scope);
  if (prefix === '!') {
    return operation?.type === 'Names' ? [UNKNOWN] : values.flatMap((name) => valuesOf(name, scope));
  }
  return operation === undefined ? values : operate(operation, values, expand);
}

function operate(
  operation: ParameterOperation,
  values: readonly string[],
  expand: (word: Word) => string[],
): readonly string[] {
  switch (operation.type) {
    case 'Default':
      return withDefault(operation.operator, values, expand(operation.operand));
    case 'Slice':
      return values.map((value) =>
        slice(value, expand(operation.offset)[0], operation.length && expand(operation.length)[0]),
      );
    case 'CaseModification':
      return values.map((value) => (operation.operator.startsWith(',') ? value.toLowerCase() : value.toUpperCase()));
    case 'Transform':
      return values.map((value) => (operation.operand.value === 'E' ? decodeEscapes(value) : value));
    case 'Remove':
      return values.map((value) => remove(value, operation.operator, expand(operation.operand)[0] ?? ''));
    case 'Replace': {
      const [pattern = ''] = expand(operation.pattern);
      const [replacement = ''] = expand(operation.replacement);
      return values.map((value) =>
        isCostly(value, pattern) ? UNKNOWN : value.replace(partOf(pattern, operation.operator), () => replacement),
      );
    }
    case 'Names':
    case 'Unknown':
      return [UNKNOWN];
    default:
      return operation satisfies never;
  }
}

function withDefault(operator: string, values: readonly string[], operand: readonly string[]): readonly string[] {
  if (operator.endsWith('+')) return ['', ...operand];
  const fallback = operator.endsWith('?') ? [UNKNOWN] : operand;
  return values.flatMap((value) => (value === '' ? fallback : [value]));
}

function slice(value: string, offset: string | undefined, length: string | undefined): string {
  const start = Number(offset?.trim());
  const count = length === undefined ? value.length : Number(length.trim());
  if (!Number.isInteger(start) || !Number.isInteger(count) || value.includes(UNKNOWN)) return UNKNOWN;
  const rest = value.slice(start);
  return count < 0 ? rest.slice(0, count) : rest.slice(0, count);
}

function remove(value: string, operator: string, pattern: string): string {
  if (isCostly(value, pattern)) return UNKNOWN;
  const whole = patternOf(pattern, true);
  const cuts = Array.from({ length: value.length + 1 }, (_, i) => i);
  const fromStart = operator.startsWith('#');
  const longest = operator.length === 2;
  // The shortest or longest piece at that end which the pattern covers.
  const order = fromStart === longest ? cuts.reverse() : cuts;
  const cutAt = order.find((i) => whole.test(fromStart ? value.slice(0, i) : value.slice(i)));
  if (cutAt === undefined) return value;
  return fromStart ? value.slice(cutAt) : value.slice(0, cutAt);
}

/** Too many ways to match for a guard that must be quick. */
function isCostly(value: string, pattern: string): boolean {
  return value.length > 300 || pattern.split(STAR).length > 4;
}

function partOf(pattern: string, operator: string): RegExp {
  const source = patternOf(pattern, true).source.slice(1, -1);
  if (operator === '/#') return new RegExp(`^${source}`);
  return operator === '/%' ? new RegExp(`${source}$`) : new RegExp(source, operator === '//' ? 'g' : '');
}
