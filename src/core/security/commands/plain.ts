import { parse, type Command, type SyntaxNode, type Word } from 'unbash';

/** One program with words that mean themselves. */
interface PlainCommand {
  /** The program, then its arguments. */
  readonly words: readonly string[];
  /** The shell puts file names in the place of a pattern, or a folder in the place of `~`. */
  readonly hasPatterns: boolean;
}

/** Nobody allows a longer one for good, nor limits a skill to it. */
const LONGEST = 2_000;

/**
 * The programs of a command that is a list or a pipe of them and nothing more; null where a shell would do anything else:
 * assignments, substitutions, redirections, functions, loops, and words that are not spelled out.
 */
function plainCommands(command: string): readonly PlainCommand[] | null {
  if (command.length > LONGEST) return null;
  const script = parse(command);
  if ((script.errors ?? []).length > 0 || script.commands.length === 0) return null;
  const found = script.commands.map(plainly);
  return found.includes(null) ? null : found.flatMap((commands) => commands ?? []);
}

/** The words of a command that is exactly one program, spelled out without patterns; null for any other. */
export function exactWords(command: string): readonly string[] | null {
  const [only, ...more] = plainCommands(command) ?? [];
  const isOne = parse(command).commands.every(
    ({ command: { type }, background }) => type === 'Command' && background !== true,
  );
  if (only === undefined || more.length > 0 || only.hasPatterns || !isOne) return null;
  return only.words[0] === '' || only.words[0]?.includes('=') === true ? null : only.words;
}

/** Whether a command runs nothing but programs that begin with one of these prefixes, each a few words such as `git log`. */
export function runsOnly(command: string, prefixes: readonly string[]): boolean {
  const allowed = prefixes.map((prefix) => prefix.trim().split(/\s+/u)).filter(([first]) => first !== '');
  const commands = plainCommands(command);
  return (
    commands?.every(({ words }) => allowed.some((prefix) => prefix.every((part, i) => words[i] === part))) === true
  );
}

function plainly(node: SyntaxNode): readonly PlainCommand[] | null {
  switch (node.type) {
    case 'Statement':
      return plainly(node.command);
    case 'AndOr':
    case 'Pipeline': {
      const found = node.commands.map(plainly);
      return found.includes(null) ? null : found.flatMap((commands) => commands ?? []);
    }
    case 'Command':
      return node.prefix.length > 0 || node.redirects.length > 0 ? null : spelled(node);
    default:
      return null;
  }
}

function spelled({ name, args }: Command): readonly PlainCommand[] | null {
  const words = [name, ...args].map((word) => (word?.type === 'Word' && isSpelled(word) ? word : null));
  const found = words.filter((word) => word !== null);
  if (found.length < words.length) return null;
  const hasPatterns = found.some(
    ({ text, parts }) => text.startsWith('~') || parts?.some(({ type }) => type === 'Glob'),
  );
  return [{ words: found.map(({ value }) => value), hasPatterns }];
}

function isSpelled({ parts = [] }: Word): boolean {
  return parts.every(
    (part) =>
      /^(?:Literal|SingleQuoted|AnsiCQuoted|Glob)$/u.test(part.type) ||
      (part.type === 'DoubleQuoted' && part.parts.every(({ type }) => type === 'Literal')),
  );
}
