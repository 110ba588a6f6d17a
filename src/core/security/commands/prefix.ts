import { parse, type SyntaxNode, type Word } from 'unbash';

/**
 * Whether a shell command runs nothing but commands that begin with one of these prefixes, each a few words such as
 * `git` or `git log`. Lists and pipes of them are fine; everything else that a shell can do (assignments, substitutions,
 * redirections into files, functions, loops, words that are not spelled out) is not, since it may run something else.
 */
export function runsOnly(command: string, prefixes: readonly string[]): boolean {
  const allowed = prefixes.map((prefix) => prefix.trim().split(/\s+/u)).filter(([first]) => first !== '');
  const script = parse(command);
  if ((script.errors ?? []).length > 0 || script.commands.length === 0) return false;
  return script.commands.every((statement) => isAllowed(statement, allowed));
}

function isAllowed(node: SyntaxNode, allowed: readonly (readonly string[])[]): boolean {
  switch (node.type) {
    case 'Statement':
      return isAllowed(node.command, allowed);
    case 'AndOr':
    case 'Pipeline':
      return node.commands.every((command) => isAllowed(command, allowed));
    case 'Command': {
      if (node.name === undefined || node.prefix.length > 0 || node.redirects.length > 0) return false;
      const words = [node.name, ...node.args].map((word) => (word.type === 'Word' ? literal(word) : undefined));
      if (words.includes(undefined)) return false;
      return allowed.some((prefix) => prefix.every((part, index) => words[index] === part));
    }
    default:
      return false;
  }
}

/** The text of a word that means itself; undefined when a shell would put something else in its place. */
function literal(word: Word): string | undefined {
  const parts = word.parts ?? [];
  const spelled = parts.every(
    (part) =>
      part.type === 'Literal' ||
      part.type === 'SingleQuoted' ||
      part.type === 'AnsiCQuoted' ||
      part.type === 'Glob' ||
      (part.type === 'DoubleQuoted' && part.parts.every((inner) => inner.type === 'Literal')),
  );
  return spelled ? word.value : undefined;
}
