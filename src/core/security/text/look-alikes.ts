/**
 * What a text of strangers may not hold: the tags of this program's own blocks, the markup in which models are given
 * their roles and make tool calls, and the role names of old prompt formats at the start of a line. Of each just one
 * character is exchanged, so that people and models can still read what stood there.
 */

/** Blocks of this program, and tool-call and reasoning markup of common models. */
const TAGS = [
  'untrusted',
  'context',
  'summary',
  'skills?',
  'available_skills',
  'tools?',
  'tool_?(?:calls?|response|results?|output|use|code)',
  'function(?:_?(?:calls?|results?|response))?s?',
  'invoke',
  'parameters?',
  'arg_(?:key|value)',
  'antml:\\w+',
  'think(?:ing)?',
  'reasoning',
  'system[-_](?:prompt|message|reminder)',
  'instructions?',
];
/** Tokens of chat templates that are written like a tag. */
const TOKENS = [
  'sys',
  'bos',
  'eos',
  'pad',
  'unk',
  'mask',
  'sop',
  'eop',
  'eot(?:_id)?',
  'eom_id',
  'im_(?:start|end)',
  'endoftext',
  '(?:start|end)_(?:of_(?:turn|text|image)|header_id)',
  '(?:begin|end)_of_(?:text|sentence|turn)',
  '(?:unused|extra_id_|reserved_(?:special_)?token_)\\d+',
];
/** Only in lower case: `<S>` and `<User>` are common in code. */
const LOWER_CASE_TAGS = ['s', 'system', 'user', 'assistant', 'human', 'developer'];
const BRACKETED = [
  'INST',
  'SYSTEM_PROMPT',
  'TOOL_(?:CALLS|RESULTS|CONTENT)',
  'AVAILABLE_TOOLS',
  'ARGS',
  'CALL_ID',
  'THINK',
  'gMASK',
];
const ROLES = 'Human|Assistant|System|User|HUMAN|ASSISTANT|SYSTEM|USER';

const any = (words: readonly string[]): string => `(?:${words.join('|')})`;
const AFTER_NAME = String.raw`(?=[\s>/|="':]|$)`;

/** An opening tag begins with its name; spaces count only where the tag could be nothing else: `a < context` is code. */
function tagged(names: readonly string[]): string {
  const name = any(names);
  return [`${name}${AFTER_NAME}`, String.raw`\s*\/\s*${name}${AFTER_NAME}`, String.raw`\s+${name}\s*>`].join('|');
}

/** Each matches the one character that is exchanged. */
const MARKS: readonly { readonly pattern: RegExp; readonly by: string }[] = [
  { pattern: new RegExp(`<(?=${tagged([...TAGS, ...TOKENS])})`, 'giu'), by: '‹' },
  { pattern: new RegExp(`<(?=${tagged(LOWER_CASE_TAGS)})`, 'gu'), by: '‹' },
  // <|…|>, also with spaces, with one bar only, and before the <SYS>> of <<SYS>>.
  { pattern: /<(?=\|[\w/▁])|<(?=\s*\|\s*[\w/▁]+\s*\|\s*>)|<(?=[\w▁]{1,60}\|>)|<(?=<\s*\/?\s*SYS\b)/giu, by: '‹' },
  { pattern: new RegExp(String.raw`\[(?=\s*\/?\s*${any(BRACKETED)}\s*\])`, 'gu'), by: '⟦' },
  {
    pattern: new RegExp(
      String.raw`(?<=^[ \t>#*_-]{0,12}(?:${ROLES})[*_]{0,3}[ \t]{0,3}|^#{2,4}[ \t]?(?:Instruction|Input|Response)):`,
      'gmu',
    ),
    by: '∶',
  },
];

/**
 * The text with its look-alikes broken, also those written in full-width or mathematical letters. To be given what
 * `withoutInvisible` leaves. Never longer; done twice it changes nothing more.
 */
export function withoutLookAlikes(text: string): string {
  const { folded, at } = fold(text);
  const exchanged = new Map<number, string>();
  for (const { pattern, by } of MARKS) {
    for (const match of folded.matchAll(pattern)) exchanged.set(at(match.index), by);
  }
  if (exchanged.size === 0) return text;
  let result = '';
  let from = 0;
  for (const [index, by] of [...exchanged].toSorted(([a], [b]) => a - b)) {
    result += text.slice(from, index) + by;
    from = index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1);
  }
  return result + text.slice(from);
}

/** The text in the plain forms of its characters, and where each place of that lies in the text. */
function fold(text: string): { readonly folded: string; readonly at: (index: number) => number } {
  if (text.normalize('NFKC') === text) return { folded: text, at: (index) => index };
  const places: number[] = [];
  let folded = '';
  let index = 0;
  for (const character of text) {
    const plain = character.normalize('NFKC');
    for (let n = 0; n < plain.length; n += 1) places.push(index);
    folded += plain;
    index += character.length;
  }
  return { folded, at: (place) => places[place] ?? text.length };
}
