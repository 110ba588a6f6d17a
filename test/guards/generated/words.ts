import { calleeOf, lastOf, textOf, type If, type Node } from './syntax.ts';

/** Names of calls that refuse, and what says so in what is returned. */
const REFUSES = /^(?:(?:deny|refus|reject|fail|ask|outside|special)\w*|no|unknown|closed|ownError|tooLong)$/u;
const REFUSED =
  /\b(?:decision: '(?:deny|ask)'|approved: false|problem|refused|denied|isError: true)\b|^[`'"][^`'"]* |^(?:METADATA|CHANGED|CANCELLED|NOBODY)$/u;

/** What a decision about trust names. */
const TRUST =
  /\b(?:\w*(?:[rR]ole|[tT]aint|[uU]ntrusted|[pP]rivate|[oO]wners?|[gG]uest|[sS]tranger|[aA]llowed|[dD]enied|[aA]pproved|[rR]efus\w*|[fF]oreign)s?|origin|decision|atLeast|within)\b/u;

/** What a role of a chat message is compared with, which has nothing to do with trust. */
const SPEAKERS = /\.?\brole [!=]== '(?:user|assistant|tool|system)'/gu;

/** Whether an expression asks about trust. */
export function asksAboutTrust(said: string): boolean {
  return TRUST.test(said.replaceAll(SPEAKERS, ''));
}

/** Names of calls that check, and with those that note what is asked about later. */
export const CHECKS = /^(?:require|refuse|allowOrThrow|permit|check|assert|judge|audit|deny|verify)/u;
export const NOTES = /^(?:require|refuse|allowOrThrow|permit|check|assert|judge|audit|deny|verify|note|run|maybe)/u;

/** Names of calls that make a text fit to be shown. */
export const HARMLESS =
  /^(?:escapeControlChars|escapeInvisible|visible|mask|redact|harmless|withMarkedHosts|withoutLookAlikes|withoutMarks|escapeHtml|bounded)$/u;

/** Names of methods that clean a text. */
export const CLEANS = /^(?:normalize|replace|replaceAll|toLowerCase|toUpperCase)$/u;

export const MARKS = /^(?:untrusted|private|foreign)$/u;

export const LIMITS = /(?:^|_)(?:MOST|LARGEST|DEEPEST)(?:_|$)|_(?:MS|BYTES)$/u;

const NOTHING = /^(?:undefined|null|\[\]|''|false|ALLOW|PUBLIC|NO_OUTPUT|\{\}|\{ decision: 'allow'.*\}|allow\(.*\))$/su;

/** Whether an expression says that there is nothing to say against something. */
export function isNothing(said: string): boolean {
  return NOTHING.test(said);
}

/** Whether a statement ends in a refusal: it throws, or returns one or a reason. */
export function refuses(node: Node | undefined, text: string): boolean {
  // What was caught and is thrown on was no refusal.
  if (node?.type === 'ThrowStatement') return node.argument.type !== 'Identifier';
  if (node?.type !== 'ReturnStatement' || node.argument === null) return false;
  const { argument } = node;
  const call = argument.type === 'AwaitExpression' ? argument.argument : argument;
  if (call.type === 'CallExpression') return REFUSES.test(calleeOf(call));
  const said = textOf(argument, text);
  return REFUSED.test(said) && !isNothing(said);
}

/** Whether an if lets something go before what would refuse it. */
export function isPass(node: If, around: readonly Node[], text: string): boolean {
  const last = lastOf(node);
  const above = around.at(-1);
  if (last?.type !== 'ReturnStatement' || refuses(last, text) || above?.type !== 'BlockStatement') return false;
  return refuses(above.body[above.body.indexOf(node) + 1], text);
}

/** Without what a part asks for (`x !== undefined`) the rest could not be said. */
export function asksForPresence(said: string): boolean {
  return /^[\w.?#]+ [!=]== (?:undefined|null|'')$|^typeof /u.test(said);
}
