import type { Piece, Tone } from '../../core/api-terminal.ts';

/** Longer blocks are shown without colours. */
const LONGEST = 50_000;

const WORDS =
  'abstract and as async await begin bool boolean break case catch char class const continue def default defer del delete do done double elif else elsif end enum esac except export extends extern false fi final finally float fn for foreach from func function global go goto if impl import in instanceof int interface is lambda let local long loop match mod module mut namespace new nil none not null or override package pass private protected pub public raise readonly record ref return select self short sizeof static struct super switch then this throw trait true try type typeof undefined union unless unsafe until use using val var virtual void volatile when where while with yield';
const QUERY_WORDS =
  'add all alter and as asc begin between by case commit create delete desc distinct drop else end exists from group having in index inner insert into is join left like limit not null on or order outer primary right rollback select set table then union update values view when where';
const KEYWORDS = new Set(WORDS.split(' '));
const QUERY_KEYWORDS = new Set(QUERY_WORDS.split(' '));

const STRING = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\x60(?:[^\x60\\]|\\.)*\x60`;
const NUMBER = String.raw`\b(?:0x[\da-f]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\b`;
const WORD = String.raw`[\p{L}_$][\p{L}\p{N}_$]*`;
const COMMENTS = {
  slashes: String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  hash: String.raw`(?<![^\s;])#[^\n]*`,
  dashes: String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`,
  markup: String.raw`<!--[^]*?(?:-->|$)`,
};

const HASH =
  /^(?:py|python\d?|sh|bash|zsh|shell|console|fish|rb|ruby|ya?ml|toml|ini|conf|dockerfile|make(?:file)?|perl|pl|r|julia|elixir|nix|tcl|env)$/u;
const SLASHES =
  /^(?:[cm]?[jt]sx?|javascript|typescript|json[c5]?|java|kotlin|kts?|swift|go|golang|rs|rust|c|h|cc|cpp|cxx|c\+\+|hpp|cs|csharp|php|scala|dart|css|scss|less|zig|proto|groovy|gradle)$/u;
const DASHES = /^(?:sql|psql|mysql|sqlite|plpgsql|lua|haskell|hs|elm)$/u;
const MARKUP = /^(?:html?|xml|svg|vue|svelte)$/u;

/** Code in light colours: comments, strings, numbers and common keywords. What is of no known language stays as it is. */
export function codePieces(code: string, language: string): readonly Piece[] {
  const name = language.toLowerCase();
  if (code.length > LONGEST) return [{ text: code }];
  if (/^(?:diff|patch)$/u.test(name)) return diffPieces(code);
  const comment = commentsOf(name);
  if (comment === undefined) return [{ text: code }];
  const keywords = DASHES.test(name) && name !== 'lua' ? QUERY_KEYWORDS : KEYWORDS;
  const isQuery = keywords === QUERY_KEYWORDS;
  const pattern = new RegExp(
    `(?<comment>${comment})|(?<string>${STRING})|(?<number>${NUMBER})|(?<word>${WORD})`,
    'giu',
  );
  const pieces: Piece[] = [];
  let at = 0;
  for (const { 0: text, index, groups = {} } of code.matchAll(pattern)) {
    const isKeyword = groups['word'] !== undefined && keywords.has(isQuery ? text.toLowerCase() : text);
    const tone = toneOf(groups, isKeyword);
    if (tone === undefined) continue;
    if (index > at) pieces.push({ text: code.slice(at, index) });
    pieces.push({ text, tone });
    at = index + text.length;
  }
  return [...pieces, { text: code.slice(at) }];
}

/** The lines of a diff; `−` is a sign too. */
export function diffPieces(diff: string): readonly Piece[] {
  return diff.split('\n').map((line, at, { length }): Piece => {
    const text = at === length - 1 ? line : `${line}\n`;
    if (/^\+(?!\+\+ )/u.test(line)) return { text, tone: 'added' };
    if (/^[-−](?!-- )/u.test(line)) return { text, tone: 'removed' };
    return /^@@|^(?:\+\+\+|---|diff|index) /u.test(line) ? { text, dim: true } : { text };
  });
}

function commentsOf(name: string): string | undefined {
  if (HASH.test(name)) return COMMENTS.hash;
  if (SLASHES.test(name)) return COMMENTS.slashes;
  if (DASHES.test(name)) return COMMENTS.dashes;
  return MARKUP.test(name) ? COMMENTS.markup : undefined;
}

function toneOf(groups: Readonly<Record<string, string | undefined>>, isKeyword: boolean): Tone | undefined {
  if (groups['comment'] !== undefined) return 'comment';
  if (groups['string'] !== undefined) return 'string';
  if (groups['number'] !== undefined) return 'number';
  return isKeyword ? 'keyword' : undefined;
}
