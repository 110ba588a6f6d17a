import {
  answersYesOrNo,
  calleeOf,
  isCondition,
  isTable,
  lastOf,
  nameIn,
  textOf,
  type Node,
  type Place,
} from './syntax.ts';
import {
  asksAboutTrust,
  asksForPresence,
  CHECKS,
  CLEANS,
  HARMLESS,
  isNothing,
  isPass,
  LIMITS,
  MARKS,
  NOTES,
  refuses,
} from './words.ts';

/** A piece of a file and what is put in its place; the places are UTF-16 units. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** One way to take guards away. */
export interface Operator {
  /** One word, part of the names of what it makes. */
  readonly name: string;
  /** One sentence for docs/guards.md. */
  readonly does: string;
  /** Empty for a node that it has nothing to do with. `every`: each decision of the file is a guard. */
  readonly changes: (place: Place, text: string, every: boolean) => readonly Change[];
}

const ALLOWED: Readonly<Record<string, string>> = {
  "decision: 'deny'": "decision: 'allow'",
  "decision: 'ask'": "decision: 'allow'",
  'approved: false': 'approved: true',
  "state: 'denied'": "state: 'approved'",
};

export const OPERATORS: readonly Operator[] = [
  {
    name: 'never',
    does: 'The condition of an `if` that refuses, asks or asks about trust is false.',
    changes: ({ node, around }, text, every) => {
      if (node.type !== 'IfStatement' || node.alternate !== null || isPass(node, around, text)) return [];
      const last = lastOf(node);
      const ends = /^(?:Return|Continue|Break)Statement$/u.test(last?.type ?? '');
      const asked = textOf(node.test, text);
      const decides = ends && (asksAboutTrust(asked) || (every && !asksForPresence(asked)));
      return refuses(last, text) || decides || isCheck(last, every) ? [put(node.test, 'false')] : [];
    },
  },
  {
    name: 'permit',
    does: 'What is refused or asked about is allowed.',
    changes: ({ node, around }, text) => {
      if (node.type !== 'Property' || around.at(-1)?.type !== 'ObjectExpression') return [];
      const allowed = ALLOWED[textOf(node, text)];
      return allowed === undefined ? [] : [put(node, allowed)];
    },
  },
  {
    name: 'always',
    does: 'The condition of an `if` that lets something pass before a refusal is true.',
    changes: ({ node, around }, text) =>
      node.type === 'IfStatement' && node.alternate === null && isPass(node, around, text)
        ? [put(node.test, 'true')]
        : [],
  },
  {
    name: 'part',
    does: 'A part of such a condition, beside `&&` or `||`, is left out.',
    changes: ({ node, around }, text, every) => {
      if (node.type !== 'LogicalExpression' || node.operator === '??' || !isCondition(around)) return [];
      return [node.left, node.right].flatMap((part) => {
        if (part.type === 'LogicalExpression' && part.operator === node.operator) return [];
        const said = textOf(part, text);
        if (asksForPresence(said) || !(asksAboutTrust(said) || (every && decides(around, text)))) return [];
        return [put(part, node.operator === '||' ? 'false' : 'true')];
      });
    },
  },
  {
    name: 'nothing',
    does: 'Of a choice between something and nothing, nothing is taken.',
    changes: ({ node }, text, every) => {
      if (node.type !== 'ConditionalExpression') return [];
      const [yes, no] = [textOf(node.consequent, text), textOf(node.alternate, text)];
      if (isNothing(yes) === isNothing(no)) return [];
      return every || asksAboutTrust(textOf(node, text)) ? [put(node, `(${isNothing(yes) ? yes : no})`)] : [];
    },
  },
  {
    name: 'choice',
    does: 'Of a choice between two somethings, always the one, and another time always the other is taken.',
    changes: ({ node }, text, every) => {
      if (node.type !== 'ConditionalExpression' || !every) return [];
      const [yes, no] = [textOf(node.consequent, text), textOf(node.alternate, text)];
      if (isNothing(yes) || isNothing(no) || !asksAboutTrust(textOf(node.test, text))) return [];
      return [put(node, `(${yes})`), put(node, `(${no})`)];
    },
  },
  {
    name: 'clean',
    does: 'A text is not cleaned before it is compared or shown.',
    changes: ({ node }, text, every) => {
      if (!every || node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return [];
      return CLEANS.test(calleeOf(node)) ? [put(node, `(${textOf(node.callee.object, text)})`)] : [];
    },
  },
  {
    name: 'option',
    does: 'An option of a program, or a flag of a call of the system, is missing.',
    changes: ({ node, around }, text, every) => {
      if (!every) return [];
      if (node.type === 'BinaryExpression' && node.operator === '|') return [put(node, `(${textOf(node.left, text)})`)];
      const isOption = node.type === 'Literal' && /^'--[a-z]/u.test(textOf(node, text)) && !isTable(around);
      return isOption && around.at(-1)?.type === 'ArrayExpression' ? [put(node, '...[]')] : [];
    },
  },
  {
    name: 'call',
    does: 'A call that checks or notes something is left out.',
    changes: ({ node }, _text, every) => (isCheck(node, every) ? [put(node, ';')] : []),
  },
  {
    name: 'some',
    does: 'What a call adds to a list is left out of it.',
    changes: ({ node, around }, _text, every) => {
      if (!every || node.type !== 'SpreadElement' || node.argument.type !== 'CallExpression') return [];
      return [put(node, around.at(-1)?.type === 'ObjectExpression' ? '...{}' : '...[]')];
    },
  },
  {
    name: 'entry',
    does: 'An entry of a table of rules is missing.',
    changes: ({ node, around }, _text, every) =>
      every && node.type === 'Property' && node.value.type === 'Identifier' && isTable(around)
        ? [put(node, '...{}')]
        : [],
  },
  {
    name: 'list',
    does: 'A list of names or patterns is empty.',
    changes: ({ node, around }, _text, every) => {
      if (!every || node.type !== 'ArrayExpression' || node.elements.length < 2 || !isTable(around)) return [];
      const isInside = around.some(({ type }) => type === 'ArrayExpression' || type === 'Property');
      return isInside ? [] : [put(node, '[]')];
    },
  },
  {
    name: 'limit',
    does: 'A limit is infinite, and that of a time as long as a timer can be.',
    changes: ({ node }, _text, every) => {
      const [, late] = node.type === 'CallExpression' && calleeOf(node) === 'deadline' ? node.arguments : [];
      if (late !== undefined) return [put(late, '2_147_483_647')];
      if (!every || node.type !== 'VariableDeclarator' || node.init === null) return [];
      const name = nameIn(node.id) ?? '';
      if (!LIMITS.test(name) || !/^(?:Literal|BinaryExpression)$/u.test(node.init.type)) return [];
      return [put(node.init, name.endsWith('_MS') ? '2_147_483_647' : 'Infinity')];
    },
  },
  {
    name: 'plain',
    does: 'A text goes out without the call that hides its secrets or makes it harmless.',
    changes: ({ node }, text) => {
      const [first] = node.type === 'CallExpression' ? node.arguments : [];
      if (node.type !== 'CallExpression' || first === undefined || !HARMLESS.test(calleeOf(node))) return [];
      return [put(node, `(${textOf(first, text)})`)];
    },
  },
  {
    name: 'mark',
    does: 'What is untrusted or private is not marked as that.',
    changes: ({ node, around }) =>
      node.type === 'Property' &&
      around.at(-1)?.type === 'ObjectExpression' &&
      MARKS.test(nameIn(node.key) ?? '') &&
      !saysNothing(node.value)
        ? [put(node, '...{}')]
        : [],
  },
  {
    name: 'verdict',
    does: 'A function that answers with yes or no always says yes, and another time always no.',
    changes: ({ node, around }, _text, every) => {
      if (!every || node.type !== 'ReturnStatement' || node.argument === null || !answersYesOrNo(around)) return [];
      if (/^(?:Literal|LogicalExpression)$/u.test(node.argument.type)) return [];
      return [put(node.argument, 'true'), put(node.argument, 'false')];
    },
  },
  {
    name: 'filter',
    does: 'What is not allowed is not filtered out of a list.',
    changes: ({ node }, text) => {
      if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return [];
      if (calleeOf(node) !== 'filter' || !node.arguments.some((one) => asksAboutTrust(textOf(one, text)))) return [];
      return [put(node, `(${textOf(node.callee.object, text)})`)];
    },
  },
];

/** A text is no mark, and a mark that is missing says the same as `false`. */
function saysNothing(node: Node | { readonly type: string }): boolean {
  return (
    node.type === 'TemplateLiteral' || ('value' in node && (typeof node.value === 'string' || node.value === false))
  );
}

function put({ start, end }: { readonly start: number; readonly end: number }, by: string): Change {
  return { start, end, by };
}

/** A statement that only calls something which checks. */
function isCheck(node: Node | undefined, every: boolean): boolean {
  if (node?.type !== 'ExpressionStatement') return false;
  const call = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression;
  return call.type === 'CallExpression' && (every ? NOTES : CHECKS).test(calleeOf(call));
}

/** Whether a condition is that of something that refuses, or the answer of a function with yes or no. */
function decides(around: readonly Node[], text: string): boolean {
  const outer = around.findLast(({ type }) => !/^(?:Logical|Unary|Parenthesized|Await)Expression$/u.test(type));
  if (outer?.type === 'IfStatement') return refuses(lastOf(outer), text);
  if (outer?.type === 'VariableDeclarator') return /^(?:is|has|may|never)/u.test(nameIn(outer.id) ?? '');
  return outer?.type === 'ReturnStatement' && answersYesOrNo(around);
}
