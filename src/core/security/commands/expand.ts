import { parse, type Assignment, type HereDocBody, type Word, type WordPart } from 'unbash';
import { ANY, SPLIT, STAR, SUBSTITUTION, UNKNOWN, unquoted } from './placeholders.ts';
import { expandParameter, valuesOf } from './parameters.ts';
import { countWords, descend, step, type Scope } from './scope.ts';
import { HOME } from './targets.ts';

/** Most alternatives of a word or command line. If there are more, their texts are joined by SPLIT into one. */
const MOST_ALTERNATIVES = 32;
/** Characters of text that count as one step of the budget (`step` in scope.ts). */
const TEXT_PER_STEP = 200;
/** The same for text that has to be parsed again, which takes longer. */
const PARSED_PER_STEP = 10;

/** Every text that a shell word may expand to. If it expands to several words, they are joined by SPLIT. */
export function expandWord(word: Word, scope: Scope): string[] {
  step(scope, 1 + word.text.length / TEXT_PER_STEP);
  const { parts } = word;
  if (parts === undefined) return [tilde(word, word.value, scope)];
  const brace = parts.find((part) => part.type === 'BraceExpansion');
  const choices = brace === undefined ? [] : braceChoices(brace.text);
  if (brace !== undefined && choices.length > 0) return expandBraces(word, brace, choices, scope);
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(word.text);
  return combine(
    parts.map((part, i) => {
      // `?` and `[…]` in a URL match no file, so the shell leaves them as they are.
      const texts = part.type === 'Glob' && isUrl ? [part.text] : expandPart(part, scope, false);
      return i === 0 && part.type === 'Literal' ? texts.map((text) => tilde(word, text, scope)) : texts;
    }),
  );
}

/** The argument lists that the words of a command line may expand to, one for each possible expansion. */
export function expandArguments(words: readonly (Word | Assignment)[], scope: Scope): string[][] {
  countWords(words);
  const choices = words.map((word) => {
    if (word.type === 'Assignment') return expandAssignment(word, scope).map((value) => [`${word.name}=${value}`]);
    const isQuoted = /["']/.test(word.text);
    return expandWord(word, scope).map((text) => text.split(SPLIT).filter((piece) => piece !== '' || isQuoted));
  });
  const ways = waysOf(choices) ?? [choices.flat()];
  step(scope, (ways.length * words.length) / TEXT_PER_STEP + ((ways.length - 1) * words.length) / PARSED_PER_STEP);
  return ways.map((way) => way.flat());
}

/** Every value that an assignment may give its variable; the elements of an array are joined by SPLIT. */
export function expandAssignment({ name, value, append }: Assignment, scope: Scope): string[] {
  const words = value.type === 'Word' ? [value] : value.elements;
  const texts = words.map((word) => expandWord(word, scope));
  const all = append === true ? [[...valuesOf(name, scope)], ...texts] : texts;
  return combine(all, value.type === 'Word' ? '' : SPLIT);
}

/** The text of a here-document; of several possible texts of a part, the last. */
export function expandHereDoc(body: HereDocBody, scope: Scope): string {
  if (body.parts === undefined) return body.text;
  return body.parts.map((part) => expandPart(part, scope, true).at(-1) ?? '').join('');
}

function expandPart(part: WordPart, scope: Scope, quoted: boolean): string[] {
  const plain = (texts: readonly string[]): string[] => (quoted ? [...texts] : texts.map(unquoted));
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [part.value];
    case 'DoubleQuoted':
    case 'LocaleString':
      return combine(part.parts.map((inner) => expandPart(inner, scope, true)));
    case 'Glob':
      return [part.kind === 'star' ? STAR : ANY];
    case 'ExtendedGlob':
      return [STAR];
    case 'SimpleExpansion':
      return plain(valuesOf(part.text.slice(1), scope));
    case 'ParameterExpansion':
      return plain(expandParameter(part, scope, (word) => expandWord(word, scope)));
    case 'CommandExpansion': {
      if (part.script === undefined) return [UNKNOWN];
      return plain([scope.shared.run(part.script, descend(scope)).replace(/\n+$/, '')]);
    }
    case 'ProcessSubstitution':
      return [`${SUBSTITUTION}${scope.shared.substitutions.push(part) - 1}${SUBSTITUTION}`];
    case 'ArithmeticExpansion':
      return [UNKNOWN];
    case 'BraceExpansion':
      return [part.text];
    default:
      return part satisfies never;
  }
}

function tilde(word: Word, text: string, scope: Scope): string {
  if (!word.text.startsWith('~')) return text;
  const [prefix = '', ...rest] = text.split('/');
  const places: Readonly<Record<string, string>> = { '~': HOME, '~+': scope.directories[0] ?? UNKNOWN, '~-': UNKNOWN };
  return [places[prefix] ?? `/home/${prefix.slice(1)}`, ...rest].join('/');
}

/** The alternatives of `{a,b}`; UNKNOWN for a range such as `{1..9}`; none when the braces are plain text. */
function braceChoices(text: string): string[] {
  const inner = text.slice(1, -1);
  if (/^-?\w+\.\.-?\w+(?:\.\.-?\d+)?$/.test(inner)) return [UNKNOWN];
  const choices = [''];
  let depth = 0;
  for (const [piece] of inner.matchAll(/\\[^]|'[^']*'|"(?:\\[^]|[^"\\])*"|`[^`]*`|[^]/g)) {
    if (piece === '{' || piece === '(') depth += 1;
    else if (piece === '}' || piece === ')') depth -= 1;
    if (piece === ',' && depth === 0) choices.push('');
    else choices[choices.length - 1] += piece;
  }
  return choices.length > 1 ? choices : [];
}

function expandBraces(word: Word, brace: WordPart, choices: readonly string[], scope: Scope): string[] {
  const before = word.text.slice(0, brace.pos - word.pos);
  const after = word.text.slice(brace.end - word.pos);
  const words = choices.map((choice) => {
    step(scope, 1 + (before.length + choice.length + after.length) / PARSED_PER_STEP);
    const [statement] = parse(`: ${before}${choice}${after}`).commands;
    const [argument] = statement?.command.type === 'Command' ? statement.command.args : [];
    return argument?.type === 'Word' ? expandWord(argument, scope) : [UNKNOWN];
  });
  return combine(words, SPLIT);
}

/** Joins one text of each list, in every combination. */
function combine(lists: readonly (readonly string[])[], between = ''): string[] {
  const ways = waysOf(lists) ?? [lists.map((texts) => texts.join(SPLIT))];
  return ways.map((way) => way.join(between));
}

/** Every combination of one item from each list; undefined when there are more than MOST_ALTERNATIVES. */
function waysOf<T>(lists: readonly (readonly T[])[]): T[][] | undefined {
  const count = lists.reduce((ways, { length }) => Math.min(ways * length, MOST_ALTERNATIVES + 1), 1);
  if (count > MOST_ALTERNATIVES) return undefined;
  return Array.from({ length: count }, (_, way) => {
    let rest = way;
    return lists.flatMap((list) => {
      const taken = list[rest % list.length];
      rest = Math.floor(rest / list.length);
      return taken === undefined ? [] : [taken];
    });
  });
}
