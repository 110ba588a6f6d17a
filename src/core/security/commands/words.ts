import { posix } from 'node:path';
import { forEachChild, parse, type Command, type SyntaxNode, type Word, type WordPart } from 'unbash';
import { findRuns, foreignCode, unwrap } from './wrappers.ts';

/** Stands in a word for what only the shell knows. No command contains it. */
export const UNKNOWN = '\0';
/** The same for what a server sends, and for what a program decodes. */
export const FETCHED = `${UNKNOWN}fetched`;
export const DECODED = `${UNKNOWN}decoded`;

/** One program that a command runs, as far as its words spell it out; `<` and `>` are files that the shell opens. */
export interface Invocation {
  /** Without its folder. */
  readonly name: string;
  readonly args: readonly string[];
  /** Where relative paths start. */
  readonly folder: string;
}

/** What the words of a shell command say. */
export interface CommandWords {
  readonly invocations: readonly Invocation[];
  /** All code that shells run. */
  readonly code: string;
  /** The name of a function that starts itself beside itself. */
  readonly forkBomb: string | undefined;
  /** Why a part of it was not read, as a clause. */
  readonly unread: string | undefined;
  /** What `~` means. */
  readonly home: string;
}

/** More is not read, so that the event loop is not held up. */
const MOST_CHARS = 10_000;
const DEEPEST = 16;
const MOST_CODE = 4 * MOST_CHARS;
const MOST_INVOCATIONS = 2_000;
/** The parser takes the square of their number, where each is in the one before. */
const MOST_SUBSTITUTIONS = 200;
const FETCHES = /^(?:\S*\/)?(?:curl|wget|https?|xh|aria2c|lynx|w3m)(?:\n|$)/u;
/** Programs that undo an encoding, with their arguments, each a line. */
const DECODES =
  /^(?:(?:base64|base32|basenc)\n(?:.*\n)*?(?:-[a-zA-Z]*[dD]|--decode)(?:\n|$)|openssl\n(?:.*\n)*?-d(?:\n|$)|xxd\n(?:.*\n)*?-\w*r|(?:uudecode|rev|tr)(?:\n|$))/u;

/** Where the reader is. */
interface Position {
  folder: string;
  /** What programs read here. */
  readonly input: string;
  readonly depth: number;
}

/**
 * Splits a command into words as bash would, through wrappers, nested shells, substitutions, pipes and here-documents.
 * It computes nothing: of the variables only `$HOME` has a value, and what loops and functions run is read where it is
 * written.
 */
export function readWords(
  command: string,
  { folder, home = '/home/user' }: { readonly folder: string; /** @default not known */ readonly home?: string },
): CommandWords {
  const invocations: Invocation[] = [];
  const spelled = new Map<Word, string>();
  let code = '';
  let forkBomb: string | undefined;
  let unread: string | undefined;

  const readCode = (text: string, at: Position): void => {
    if (code.length > MOST_CODE) {
      unread = 'too much code is nested in it';
      return;
    }
    if (text.split('$(').length > MOST_SUBSTITUTIONS) {
      unread = 'it is nested too deep';
      return;
    }
    code += `${text}\n`;
    if (text.length > MOST_CHARS) unread = `it is longer than ${MOST_CHARS} characters`;
    const script = parse(text.slice(0, MOST_CHARS));
    if (script.errors?.[0] !== undefined) unread ??= `it is not complete (${script.errors[0].message})`;
    walk(script, at);
  };

  const walk = (node: SyntaxNode, at: Position): void => {
    if (node.type === 'Pipeline') {
      let { input } = at;
      for (const stage of node.commands) {
        walk(stage, { ...at, input });
        input = outputOf(stage, input);
      }
      return;
    }
    if (node.type === 'Function' && startsItself(node.body, node.name.value)) forkBomb = node.name.value;
    if (node.type === 'Command') readCommand(node, at);
    if (node.type === 'Redirect' && node.target !== undefined && !/^(?:\d+|-)$/u.test(node.target.value)) {
      const name = node.operator.includes('>') ? '>' : '<';
      invocations.push({ name, args: [spell(node.target)], folder: at.folder });
    }
    // What changes its folder there changes it for nothing else.
    const inside = /^(?:Function|Subshell|CommandExpansion|ProcessSubstitution)$/u.test(node.type) ? { ...at } : at;
    forEachChild(node, (child) => walk(child, inside));
  };

  const readCommand = (node: Command, at: Position): void => {
    const given = node.redirects.flatMap((item) => {
      if (item.type === 'HereDoc') return item.body.text;
      return item.type === 'HereString' && item.target !== undefined ? spell(item.target) : [];
    });
    const argv = argvOf(node);
    run(argv, given.length > 0 ? { ...at, input: given.join('\n') } : at);
    const [name = '', target = home] = argv.filter((word) => !/^-[LPe@]*$|^--$/u.test(word));
    if (name === 'cd' || name === 'pushd') at.folder = posix.resolve(at.folder, target);
  };

  const run = ([program = '', ...args]: readonly string[], at: Position): void => {
    const name = posix.basename(program);
    if (invocations.length >= MOST_INVOCATIONS) {
      unread = 'it runs too many programs';
      return;
    }
    if (name !== '') invocations.push({ name, args, folder: at.folder });
    const deeper = { ...at, depth: at.depth + 1 };
    const inner = unwrap(name, args);
    const foreign = foreignCode(name, args);
    // Code of another language is not read, but it counts where it comes from.
    if (foreign !== null) code += /\0(?:fetched|decoded)/u.exec(foreign.code ?? at.input)?.[0] ?? '';
    if (deeper.depth > DEEPEST) unread = 'it is nested too deep';
    else if (name === 'find') for (const argv of findRuns(args)) run(argv, deeper);
    else if (inner !== undefined && 'argv' in inner) run(inner.argv, deeper);
    else if (inner !== undefined) readCode(inner.code ?? at.input, deeper);
  };

  /** What a command writes, as far as its words say. */
  const outputOf = (node: SyntaxNode, input = ''): string => {
    const all = commandsIn(node).map((found) => innermost(argvOf(found)).join('\n'));
    if (input.includes(DECODED) || all.some((argv) => DECODES.test(argv))) return DECODED;
    if (input.includes(FETCHED) || all.some((argv) => FETCHES.test(argv))) return FETCHED;
    return all.length === 1 ? (/^echo\n(?:-[neE]+\n)?([^]*)$/u.exec(all[0] ?? '')?.[1] ?? UNKNOWN) : UNKNOWN;
  };

  const argvOf = ({ name, args }: Command): readonly string[] =>
    name === undefined ? [] : [name, ...args].flatMap((word) => (word.type === 'Word' ? choicesOf(word) : word.text));

  /** `a{b,c}` as `ab` and `ac`. */
  const choicesOf = (word: Word): readonly string[] => {
    const spelled = spell(word);
    if (word.parts?.some(({ type }) => type === 'BraceExpansion') !== true) return [spelled];
    const [, before = '', choices = '', after = ''] = /^(.*?)\{([^{}]*)\}(.*)$/su.exec(spelled) ?? ['', spelled];
    return choices.split(',').map((choice) => before + choice + after);
  };

  const spell = (word: Word): string => {
    const known = spelled.get(word);
    if (known !== undefined) return known;
    const whole = word.parts?.map(spellPart).join('') ?? word.value;
    const text = word.text.startsWith('~') ? whole.replace(/^~[^/]*/u, home) : whole;
    spelled.set(word, text);
    return text;
  };

  const spellPart = (part: WordPart): string => {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
      case 'AnsiCQuoted':
      case 'Glob':
        return part.value;
      case 'BraceExpansion':
        return part.text;
      case 'DoubleQuoted':
        return part.parts.map(spellPart).join('');
      case 'CommandExpansion':
      case 'ProcessSubstitution':
        return part.script === undefined ? UNKNOWN : outputOf(part.script);
      default:
        return /^\$(?:HOME|\{HOME\})$/u.test(part.text) ? home : UNKNOWN;
    }
  };

  try {
    readCode(command, { folder, input: UNKNOWN, depth: 0 });
  } catch (error) {
    // Parser and reader call themselves for each level.
    if (!(error instanceof RangeError)) throw error;
    unread = 'it is nested too deep';
  }
  return { invocations, code, forkBomb, unread, home };
}

/** What a command line runs behind its wrappers. */
function innermost(argv: readonly string[], depth = 0): readonly string[] {
  const [program = '', ...args] = argv;
  const inner = unwrap(posix.basename(program), args);
  return inner !== undefined && 'argv' in inner && depth < DEEPEST ? innermost(inner.argv, depth + 1) : argv;
}

function commandsIn(node: SyntaxNode): readonly Command[] {
  const inside: Command[] = node.type === 'Command' ? [node] : [];
  forEachChild(node, (child) => inside.push(...commandsIn(child)));
  return inside;
}

/** Whether a function's body pipes the function into itself or starts it in the background. */
function startsItself(node: SyntaxNode, name: string): boolean {
  const calls = (one: SyntaxNode): boolean => one.type === 'Command' && one.name?.value === name;
  if (node.type === 'Pipeline' && node.commands.filter(calls).length > 1) return true;
  if (node.type === 'Statement' && node.background === true && commandsIn(node).some(calls)) return true;
  let found = false;
  forEachChild(node, (child) => (found ||= startsItself(child, name)));
  return found;
}
