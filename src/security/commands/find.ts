import { asCode } from './marks.ts';

const NARROWING = new Set([
  '-name',
  '-iname',
  '-path',
  '-ipath',
  '-wholename',
  '-regex',
  '-iregex',
  '-newer',
  '-mtime',
  '-mmin',
  '-ctime',
  '-cmin',
  '-atime',
  '-amin',
  '-size',
  '-empty',
  '-inum',
  '-samefile',
  '-lname',
  '-user',
  '-group',
  '-perm',
  '-links',
]);
const EXECUTES = new Set(['-exec', '-execdir', '-ok', '-okdir']);

interface Find {
  readonly roots: readonly string[];
  /** Only some of what lies there is meant. */
  readonly narrowed: boolean;
  readonly deletes: boolean;
  /** Command lines with `{}` still in them. */
  readonly commands: readonly (readonly string[])[];
}

/** The parts of a `find` command line that matter here. */
export function parseFind(args: readonly string[]): Find {
  const start = args.findIndex((arg) => /^(?:-(?![HLPOD])|[(!])/.test(arg));
  const expression = start < 0 ? [] : args.slice(start);
  const roots = (start < 0 ? args : args.slice(0, start)).filter((arg) => !arg.startsWith('-'));
  const commands: string[][] = [];
  let narrowed = false;
  for (let i = 0; i < expression.length; i += 1) {
    const word = expression[i] ?? '';
    if (EXECUTES.has(word)) {
      const rest = expression.slice(i + 1);
      const end = rest.findIndex((arg) => arg === ';' || arg === '+');
      commands.push(end < 0 ? rest : rest.slice(0, end));
      i += end < 0 ? rest.length : end + 1;
    } else if (NARROWING.has(word)) {
      const negated = expression[i - 1] === '!' || expression[i - 1] === '-not';
      if (!negated && !/^[*.?]+$/.test(asCode(expression[i + 1] ?? ''))) narrowed = true;
    }
  }
  if (expression.some((word) => word === '-o' || word === '-or' || word === ',')) narrowed = false;
  return { roots: roots.length === 0 ? ['.'] : roots, narrowed, deletes: expression.includes('-delete'), commands };
}
