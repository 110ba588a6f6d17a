import type { Operator } from './operators.ts';
import { asksForPresence } from './words.ts';
import { calleeOf, textOf } from './syntax.ts';

/** Names of calls that keep a check quick, which a clock sees and no verdict. */
const COUNTS = /^(?:step|countWords)$/u;

/** For files that `WIDELY` of scopes.ts names: they ask neither what refuses nor what is about trust. */
export const WIDE_OPERATORS: readonly Operator[] = [
  {
    name: 'skip',
    does: 'A call of which only the effect is wanted is left out.',
    changes: ({ node }) => {
      if (node.type !== 'ExpressionStatement') return [];
      const call = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression;
      return call.type === 'CallExpression' && !COUNTS.test(calleeOf(call))
        ? [{ start: node.start, end: node.end, by: ';' }]
        : [];
    },
  },
  {
    name: 'if',
    does: 'The condition of any `if` is false.',
    changes: ({ node }) =>
      node.type === 'IfStatement' ? [{ start: node.test.start, end: node.test.end, by: 'false' }] : [],
  },
  {
    name: 'side',
    does: 'A side of any `&&` or `||` is left out.',
    changes: ({ node }, text) => {
      if (node.type !== 'LogicalExpression' || node.operator === '??') return [];
      const by = node.operator === '||' ? 'false' : 'true';
      return [node.left, node.right]
        .filter((side) => side.type !== 'LogicalExpression' || side.operator !== node.operator)
        .filter((side) => !asksForPresence(textOf(side, text)))
        .map(({ start, end }) => ({ start, end, by }));
    },
  },
  {
    name: 'branch',
    does: 'Of any choice always the one, and another time always the other is taken.',
    changes: ({ node }, text) =>
      node.type === 'ConditionalExpression'
        ? [node.consequent, node.alternate].map((by) => ({
            start: node.start,
            end: node.end,
            by: `(${textOf(by, text)})`,
          }))
        : [],
  },
  {
    name: 'spread',
    does: 'What is spread into a list is left out of it.',
    changes: ({ node, around }) =>
      node.type === 'SpreadElement' && around.at(-1)?.type === 'ArrayExpression'
        ? [{ start: node.start, end: node.end, by: '...[]' }]
        : [],
  },
  {
    name: 'first',
    does: 'Of `a ?? b` always `b` is taken.',
    changes: ({ node }, text) =>
      node.type === 'LogicalExpression' && node.operator === '??'
        ? [{ start: node.start, end: node.end, by: `(${textOf(node.right, text)})` }]
        : [],
  },
  {
    name: 'flip',
    does: 'What is true is false, and the other way round.',
    changes: ({ node }) =>
      node.type === 'Literal' && typeof node.value === 'boolean'
        ? [{ start: node.start, end: node.end, by: String(!node.value) }]
        : [],
  },
];
