import { parseAst } from 'vitest/node';

type Program = ReturnType<typeof parseAst>;
type Statement = Program['body'][number];
type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression'];
type ArrayPart = NonNullable<Extract<Expression, { type: 'ArrayExpression' }>['elements'][number]>;
type ObjectPart = Extract<Expression, { type: 'ObjectExpression' }>['properties'][number];
type Declarator = Extract<Statement, { type: 'VariableDeclaration' }>['declarations'][number];
type Member = Extract<Statement, { body: { type: 'ClassBody' } }>['body']['body'][number];

/** A node of the syntax tree, with its place (`start`, `end`) in UTF-16 units. */
export type Node = Program | Statement | Expression | ArrayPart | ObjectPart | Declarator | Member;

export type If = Extract<Node, { type: 'IfStatement' }>;
type Call = Extract<Node, { type: 'CallExpression' }>;

/** A node and what is around it. */
export interface Place {
  readonly node: Node;
  /** From the file to the node that it stands in. */
  readonly around: readonly Node[];
  /** The innermost function, method or constant with a name, or `file`. */
  readonly within: string;
}

/** All nodes of a TypeScript file except types, in the order of its text. Throws when it is no TypeScript. */
export function nodesOf(text: string): readonly Place[] {
  const places: Place[] = [];
  const visit = (node: Node, around: readonly Node[], within: string): void => {
    if (node.type.startsWith('TSType') || node.type.startsWith('TSInterface') || node.type === 'ImportDeclaration')
      return;
    const inside = nameOf(node) ?? within;
    places.push({ node, around, within: inside });
    for (const child of childrenOf(node)) visit(child, [...around, node], inside);
  };
  visit(parseAst(text, { lang: 'ts' }), [], 'file');
  return places;
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

function nameOf(node: Node): string | undefined {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return node.id?.name;
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return nameIn(node.key);
    case 'VariableDeclarator': {
      const isNamed = node.init?.type === 'ArrowFunctionExpression' || /^[A-Z][A-Z\d_]+$/u.test(nameIn(node.id) ?? '');
      return isNamed ? nameIn(node.id) : undefined;
    }
    default:
      return undefined;
  }
}

/** Directly below a constant of the file. */
export function isTable(around: readonly Node[]): boolean {
  const types = around.map(({ type }) => type);
  return types.includes('VariableDeclarator') && !types.some((type) => /Function|Method/u.test(type));
}

/** In an if, a choice, or in what is returned or kept; not in the middle of a call. */
export function isCondition(around: readonly Node[]): boolean {
  const outer = around.findLast(({ type }) => !/^(?:Logical|Unary|Parenthesized|Await)Expression$/u.test(type));
  const types =
    /^(?:(?:If|Return|While)Statement|(?:Conditional|ArrowFunction)Expression|VariableDeclarator|Property)$/u;
  return types.test(outer?.type ?? '');
}

/** Whether the innermost function is declared to return a boolean. */
export function answersYesOrNo(around: readonly Node[]): boolean {
  const inside = around.findLast(({ type }) => /Function/u.test(type));
  if (inside === undefined || !('returnType' in inside)) return false;
  return inside.returnType?.typeAnnotation.type === 'TSBooleanKeyword';
}

/** The last statement of the branch of an if. */
export function lastOf({ consequent }: If): Node | undefined {
  return consequent.type === 'BlockStatement' ? consequent.body.at(-1) : consequent;
}

/** The name of what is called, without what it belongs to. */
export function calleeOf({ callee }: Pick<Call, 'callee'>): string {
  if (callee.type === 'MemberExpression') return nameIn(callee.property) ?? '';
  return nameIn(callee) ?? '';
}

export function textOf({ start, end }: { readonly start: number; readonly end: number }, text: string): string {
  return text.slice(start, end);
}

/** The name of an identifier. */
export function nameIn(node: { readonly type: string }): string | undefined {
  return 'name' in node && typeof node.name === 'string' ? node.name : undefined;
}
