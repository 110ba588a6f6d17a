import { parse, type Assignment, type HereDocBody, type ParsedScript, type Word, type WordPart } from 'unbash';
import { DECODED, FETCHED, SPLIT, STAR, ANY, SUBSTITUTION, UNKNOWN, unquoted } from './marks.ts';
import { expandParameter, valuesOf } from './parameters.ts';
import { countWords, step, type Output, type Scope } from './scope.ts';
import { HOME } from './targets.ts';

/** Runs a nested script as far as it can be known, checking it on the way. */
export type RunScript = (script: ParsedScript | undefined, scope: Scope) => Output;

const MOST_ALTERNATIVES = 32;
/** Characters that are read as quickly as a step is made. */
const TEXT_PER_STEP = 200;
/** What is read once more from its text takes longer. */
const PARSED_PER_STEP = 10;

/** Every text that a word may become. Several words from one are joined by SPLIT. */
export function expandWord(word: Word, scope: Scope, run: RunScript): string[] {
  step(scope, 1 + word.text.length / TEXT_PER_STEP);
  const { parts } = word;
  if (parts === undefined) return [tilde(word, word.value, scope)];
  const brace = parts.find((part) => part.type === 'BraceExpansion');
  if (brace !== undefined) {
    const choices = braceChoices(brace.text);
    if (choices !== undefined) return expandBraces(word, brace, choices, scope, run);
  }
  const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i.test(word.text);
  return combine(
    parts.map((part, i) => {
      // No file has such a name, so the shell leaves the brackets of an address as they are.
      const texts = part.type === 'Glob' && isUrl ? [part.text] : expandPart(part, scope, run, false);
      return i === 0 ? texts.map((text) => (part.type === 'Literal' ? tilde(word, text, scope) : text)) : texts;
    }),
  );
}

/** What a command line's words become: one list of arguments for each way it may turn out. */
export function expandArguments(words: readonly (Word | Assignment)[], scope: Scope, run: RunScript): string[][] {
  countWords(words);
  const expanded = words.map((word) => {
    if (word.type === 'Assignment') return expandAssignment(word, scope, run).map((value) => `${word.name}=${value}`);
    return expandWord(word, scope, run);
  });
  const pieces = expanded.map((texts, i) => texts.map((text) => splitWord(text, words[i])));
  step(scope, pieces.length / TEXT_PER_STEP);
  // Most words can turn out in one way only, so the ways are of the others.
  const open = pieces.map((choices, i) => ({ choices, i })).filter(({ choices }) => choices.length > 1);
  const ways = product(
    open.map(({ choices }) => choices.map((_, n) => String(n))),
    (way, n, at) => new Map(way).set(open[at]?.i ?? -1, Number(n)),
    [new Map<number, number>()],
  );
  if (ways === undefined) return [pieces.flat(2)];
  step(scope, ((ways.length - 1) * pieces.length) / 10);
  return ways.map((way) => pieces.flatMap((choices, i) => choices[way.get(i) ?? 0] ?? []));
}

export function expandAssignment(assignment: Assignment, scope: Scope, run: RunScript): string[] {
  const { value } = assignment;
  const texts =
    value.type === 'Word'
      ? expandWord(value, scope, run)
      : combine(
          value.elements.map((element, i) =>
            expandWord(element, scope, run).map((text) => (i === 0 ? text : SPLIT + text)),
          ),
        );
  if (assignment.append !== true) return texts;
  return combine([
    [...valuesOf(assignment.name, scope)],
    value.type === 'Word' ? texts : texts.map((text) => SPLIT + text),
  ]);
}

export function expandHereDoc(body: HereDocBody, scope: Scope, run: RunScript): string {
  if (body.parts === undefined) return body.text;
  return body.parts.map((part) => expandPart(part, scope, run, true).at(-1) ?? '').join('');
}

function expandPart(part: WordPart, scope: Scope, run: RunScript, quoted: boolean): string[] {
  const plain = (texts: readonly string[]): string[] => (quoted ? [...texts] : texts.map(unquoted));
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [part.value];
    case 'DoubleQuoted':
    case 'LocaleString':
      return combine(part.parts.map((inner) => expandPart(inner, scope, run, true)));
    case 'Glob':
      return [part.kind === 'star' ? STAR : ANY];
    case 'ExtendedGlob':
      return [STAR];
    case 'SimpleExpansion':
      return plain(valuesOf(part.text.slice(1), scope));
    case 'ParameterExpansion':
      return plain(expandParameter(part, scope, (word) => expandWord(word, scope, run)));
    case 'CommandExpansion': {
      const { text, decoded, fetched } = run(part.script, scope);
      const traces = (decoded ? DECODED : '') + (fetched === true ? FETCHED : '');
      return plain([traces + (text ?? UNKNOWN).replace(/\n+$/, '')]);
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

/** The choices of `{a,b}`; the ends of `{1..9}`; undefined when the braces are plain text. */
function braceChoices(text: string): string[] | undefined {
  const inner = text.slice(1, -1);
  const choices: string[] = [];
  let depth = 0;
  let quote = '';
  let start = 0;
  for (let i = 0; i < inner.length; i += 1) {
    const char = inner[i] ?? '';
    if (char === '\\') i += 1;
    else if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'" || char === '`') quote = char;
    else if (char === '{' || char === '(') depth += 1;
    else if (char === '}' || char === ')') depth -= 1;
    else if (char === ',' && depth === 0) {
      choices.push(inner.slice(start, i));
      start = i + 1;
    }
  }
  if (choices.length > 0) return [...choices, inner.slice(start)];
  const range = /^(-?\w+)\.\.(-?\w+)(?:\.\.-?\d+)?$/.exec(inner);
  return range === null ? undefined : [range[1] ?? '', range[2] ?? ''];
}

function expandBraces(word: Word, brace: WordPart, choices: readonly string[], scope: Scope, run: RunScript): string[] {
  const before = word.text.slice(0, brace.pos - word.pos);
  const after = word.text.slice(brace.end - word.pos);
  const words = choices.map((choice) => {
    step(scope, 1 + (before.length + choice.length + after.length) / PARSED_PER_STEP);
    const [statement] = parse(`: ${before}${choice}${after}`).commands;
    const [argument] = statement?.command.type === 'Command' ? statement.command.args : [];
    return argument?.type === 'Word' ? expandWord(argument, scope, run) : [UNKNOWN];
  });
  return combine(words.map((texts, i) => (i === 0 ? texts : texts.map((text) => SPLIT + text))));
}

function splitWord(text: string, word: Word | Assignment | undefined): string[] {
  const quoted = word?.type === 'Word' && /["']/.test(word.text);
  return text.split(SPLIT).filter((piece) => piece !== '' || quoted);
}

/** Every way to put one text of each list after another. */
function combine(lists: readonly (readonly string[])[]): string[] {
  return product(lists, (before, text) => before + text, ['']) ?? [lists.map((texts) => texts.join(SPLIT)).join('')];
}

/** Undefined when there are too many ways. */
function product<T>(
  lists: readonly (readonly string[])[],
  add: (before: T, text: string, index: number) => T,
  start: readonly T[],
): T[] | undefined {
  let ways = [...start];
  for (const [i, texts] of lists.entries()) {
    if (ways.length * texts.length > MOST_ALTERNATIVES) return undefined;
    ways = ways.flatMap((before) => texts.map((text) => add(before, text, i)));
  }
  return ways;
}
