import { forEachChild, parse, type Command, type SyntaxNode } from 'unbash';

/** Nobody allows a longer one for good, nor limits a skill to it. */
const LONGEST = 2_000;
/** All that a list or a pipe of plain programs is made of. */
const PLAIN = /^(?:Script|Statement|AndOr|Pipeline|Command|Word|Literal|SingleQuoted|AnsiCQuoted|DoubleQuoted|Glob)$/u;

/**
 * The programs of a command that is a list or a pipe of them and nothing more; null where a shell would do anything else:
 * assignments, substitutions, redirections, functions, loops, and words that are not spelled out.
 */
function plainCommands(command: string): readonly Command[] | null {
  if (command.length > LONGEST) return null;
  const script = parse(command);
  const found: Command[] = [];
  const isPlain = (node: SyntaxNode): boolean => {
    if (!PLAIN.test(node.type)) return false;
    if (node.type === 'Command') {
      if (node.prefix.length > 0 || node.redirects.length > 0) return false;
      found.push(node);
    }
    let isWhole = true;
    forEachChild(node, (child) => (isWhole &&= isPlain(child)));
    return isWhole;
  };
  return (script.errors ?? []).length === 0 && isPlain(script) && found.length > 0 ? found : null;
}

function wordsOf({ name, args }: Command): readonly string[] {
  return [name, ...args].map((word) => (word?.type === 'Word' ? word.value : ''));
}

/** The words of a command that is exactly one program, spelled out without patterns; null for any other. */
export function exactWords(command: string): readonly string[] | null {
  const [only, ...more] = plainCommands(command) ?? [];
  if (only === undefined || more.length > 0) return null;
  // `! a`, `time a` and `a &` are more than their program.
  const isAlone = parse(command).commands.every((one) => one.command.type === 'Command' && one.background !== true);
  const hasPatterns = only.args.some(
    (word) => word.text.startsWith('~') || (word.type === 'Word' && word.parts?.some(({ type }) => type === 'Glob')),
  );
  const words = wordsOf(only);
  return isAlone && !hasPatterns && words[0] !== '' && words[0]?.includes('=') === false ? words : null;
}

/** Whether a command runs nothing but programs that begin with one of these prefixes, each a few words such as `git log`. */
export function runsOnly(command: string, prefixes: readonly string[]): boolean {
  const allowed = prefixes.map((prefix) => prefix.trim().split(/\s+/u)).filter(([first]) => first !== '');
  const programs = plainCommands(command)?.map(wordsOf);
  return programs?.every((words) => allowed.some((prefix) => prefix.every((part, i) => words[i] === part))) === true;
}
