import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash';
import { SPLIT, STAR, sourceOf, UNKNOWN } from './placeholders.ts';
import { step, type Scope } from './scope.ts';
import { HOME } from './targets.ts';

/** What the command itself has started, as `kill` names it. */
export const OWN_JOB = '%+';

/** Variables that a shell always has, with values that no one can know. */
const GIVEN =
  /^(?:PATH|LANG|LC_\w+|TERM|TZ|USER|LOGNAME|SHELL|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|OLDPWD|RANDOM|SRANDOM|SECONDS|EPOCH\w+|LINENO|UID|EUID|GROUPS|PPID|BASH\w*|SHLVL|OPTIND|PIPESTATUS|FUNCNAME|COLUMNS|LINES|[?$#_0-])$/;

/** What a variable may hold. One that is never set is empty: commands start with a cleared environment. */
export function valuesOf(name: string, scope: Scope): readonly string[] {
  const values = scope.variables.get(name === '*' ? '@' : name);
  if (values !== undefined) return values;
  if (/^[1-9]\d*$/.test(name))
    return valuesOf('@', scope).map((all) => (all === UNKNOWN ? all : (all.split(SPLIT)[Number(name) - 1] ?? '')));
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
  if (prefix === '!') return operation?.type === 'Names' ? [UNKNOWN] : values.flatMap((name) => valuesOf(name, scope));
  return operation === undefined ? values : values.flatMap((value) => operate(value, operation, scope, expand));
}

function operate(
  value: string,
  operation: ParameterOperation,
  scope: Scope,
  expand: (word: Word) => string[],
): readonly string[] {
  switch (operation.type) {
    case 'Default': {
      const { operator, operand } = operation;
      if (operator.endsWith('+')) return ['', ...expand(operand)];
      if (value !== '') return [value];
      return operator.endsWith('?') ? [UNKNOWN] : expand(operand);
    }
    case 'Slice': {
      const [start, count = Infinity] = [operation.offset, operation.length].map((word) =>
        word === undefined ? undefined : Number(expand(word)[0]),
      );
      if (start === undefined || !Number.isInteger(start) || Number.isNaN(count) || value.includes(UNKNOWN))
        return [UNKNOWN];
      return [value.slice(start).slice(0, count)];
    }
    case 'CaseModification':
      return [operation.operator.startsWith(',') ? value.toLowerCase() : value.toUpperCase()];
    case 'Remove':
      return [replaced(value, operation.operator, expand(operation.operand)[0] ?? '', '', scope)];
    case 'Replace': {
      const [pattern = '', replacement = ''] = [operation.pattern, operation.replacement].map(
        (word) => expand(word)[0],
      );
      return [replaced(value, operation.operator, pattern, replacement, scope)];
    }
    default:
      return [UNKNOWN];
  }
}

/** Ways to match a pattern that are tried as quickly as a step is made, and as many as are tried at all. */
const WAYS_PER_STEP = 5_000;
const MOST_WAYS = 1_000_000;

function replaced(value: string, operator: string, pattern: string, replacement: string, scope: Scope): string {
  const ways = value.length ** pattern.split(STAR).length;
  if (ways > MOST_WAYS) return UNKNOWN;
  step(scope, ways / WAYS_PER_STEP);
  const before = operator === '%' ? '^([^]*)' : operator.includes('#') ? '^()' : '()';
  const after = operator.includes('%') ? '$' : '';
  const source = sourceOf(pattern, '[^]', operator === '#' ? '[^]*?' : '[^]*');
  const whole = new RegExp(before + source + after, operator === '//' ? 'g' : '');
  return value.replace(whole, (_, kept: string) => kept + replacement);
}
