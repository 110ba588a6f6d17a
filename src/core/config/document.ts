import { findNodeAtLocation, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { ConfigError, type Position } from './config-error.ts';

/** A configuration file: its values, and where in the text they stand. */
export interface ConfigDocument {
  readonly value: unknown;
  /** There is nothing in it but white space and comments. */
  readonly isEmpty: boolean;
  position(path: readonly string[]): Position | undefined;
}

const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this word is not JSON (texts need double quotes)',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'a key in double quotes is missing',
  ValueExpected: 'a value is missing',
  ColonExpected: 'a colon is missing',
  CommaExpected: 'a comma is missing',
  CloseBraceExpected: 'a closing } is missing',
  CloseBracketExpected: 'a closing ] is missing',
  EndOfFileExpected: 'nothing may follow after the last }',
  InvalidCommentToken: 'comments begin with // or stand between /* and */',
  UnexpectedEndOfComment: 'a comment is not closed by */',
  UnexpectedEndOfString: 'a text is not closed by a double quote',
  InvalidUnicode: 'an escape such as \\u00e9 is broken',
  InvalidEscapeCharacter: 'an escape such as \\n is broken',
  InvalidCharacter: 'this character must not stand here',
};

/** Reads JSON with comments and trailing commas. Throws `config-invalid` with line and column, never with the text. */
export function parseDocument(source: string, file: string): ConfigDocument {
  const text = source.replace(/^\uFEFF/u, '');
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  const [error] = errors;
  if (error !== undefined) {
    const place = positionAt(text, error.offset);
    const { line, column } = place;
    const why = SYNTAX[printParseErrorCode(error.error)] ?? 'this is not JSON';
    const message = `${file}:${line}:${column}: ${why}. Correct the file and start again.`;
    const sentence = `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
    throw new ConfigError(message, [{ path: '', sentence, place }], { file, line, column });
  }
  if (tree !== undefined && tree.type !== 'object') {
    const sentence = `${file} must hold an object { … }, but holds ${article(tree.type)}.`;
    const problem = { path: '', sentence, place: { line: 1, column: 1 } };
    throw new ConfigError(`${sentence} Correct the file and start again.`, [problem], { file });
  }
  return {
    value: tree === undefined ? {} : valueOf(tree),
    isEmpty: tree === undefined,
    position(path) {
      const node = tree === undefined ? undefined : findNode(tree, path);
      return node === undefined ? undefined : positionAt(text, node.offset);
    },
  };
}

function findNode(tree: Node, path: readonly string[]): Node | undefined {
  const exact = findNodeAtLocation(
    tree,
    path.map((key) => (/^\d+$/u.test(key) ? Number(key) : key)),
  );
  return exact ?? findNodeAtLocation(tree, [...path]);
}

function valueOf(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(valueOf);
  if (node.type !== 'object') return node.value;
  const entries = (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key === undefined || value === undefined ? [] : [[String(key.value), valueOf(value)] as const],
  );
  return Object.fromEntries(entries);
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

function article(type: string): string {
  return type === 'array' ? 'a list' : `a ${type}`;
}
