import * as fc from 'fast-check';

const word = fc.constantFrom(
  'alpha',
  'beta',
  'x<y',
  'a&b',
  '"q"',
  '😀',
  'über',
  '日本。語',
  '&amp;',
  '&lt;b&gt;',
  '\\*',
  '<i>',
  '</b>',
  'a_b_c',
  '_x_',
  'http://x.y',
  'https://x.y/a_b*c(d)_?q=1&r=2.',
  '@everyone',
  '@here',
  '<@123>',
  '<@U123AB>',
  '<#42>',
  '<!channel>',
  '<https://x.y/z>',
  '<me@x.y>',
  '||s||',
  'steam://run',
  ':smile:',
  '1.',
  '-#',
  'C#',
  '\u200f\u202e',
);
const wrapped = (mark: string) => (text: string) => `${mark}${text}${mark}`;
const inline = fc.letrec<{ piece: string; line: string }>((tie) => ({
  piece: fc.oneof(
    { depthSize: 'xsmall', withCrossShrink: true },
    word,
    tie('line').map(wrapped('**')),
    tie('line').map(wrapped('*')),
    tie('line').map(wrapped('~~')),
    tie('line').map(wrapped('`')),
    tie('line').map(wrapped('``')),
    tie('line').map((text) => `[${text}](http://x.y/(?a=1&b=2)`),
    tie('line').map((text) => `[${text}](<mailto:a b@x.y>)`),
    tie('line').map((text) => `![${text}](data:x)`),
    tie('line').map((text) => `![${text}](https://x.y/p_i_c.png "title")`),
    fc.string({ maxLength: 8 }),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
    fc.constantFrom('**', '*', '`', '```', '~~', '[', '](', '!', '|', '  \n', '\n', '\\', '>', '#', '+ ', '- '),
  ),
  line: fc
    .tuple(fc.constantFrom(' ', ' ', ''), fc.array(tie('piece'), { minLength: 1, maxLength: 3 }))
    .map(([between, pieces]) => pieces.join(between)),
})).line;

const indent = (by: string) => (text: string) => by + text.replaceAll('\n', `\n${' '.repeat(by.length)}`);

/** Documents of everything that Markdown has, well formed or nearly so. */
const anyDocument: fc.Arbitrary<string> = fc.letrec<{ block: string; blocks: string }>((tie) => ({
  block: fc.oneof(
    { depthSize: 'xsmall', withCrossShrink: true },
    inline,
    fc.tuple(fc.constantFrom('#', '##', '####'), inline).map(([level, text]) => `${level} ${text}`),
    inline.map((text) => `${text}\n---`),
    tie('blocks').map(indent('- ')),
    tie('blocks').map(indent('* ')),
    fc.tuple(fc.constantFrom('0. ', '1. ', '7) ', '99. '), tie('blocks')).map(([mark, text]) => indent(mark)(text)),
    fc.array(inline, { minLength: 1, maxLength: 3 }).map((items) => items.map((item) => `- ${item}`).join('\n')),
    tie('blocks').map((text) => `> ${text.replaceAll('\n', '\n> ')}`),
    fc.tuple(fc.constantFrom('ts', '', 'a"b', 'c++'), inline).map(([name, text]) => `\`\`\`${name}\n${text}\n\`\`\``),
    fc.tuple(inline, inline).map(([a, b]) => `| ${a} | b |\n|---|--:|\n| c | ${b} |`),
    fc.constantFrom('---', '***', '<div>', '    code', '    \n', '- ', '1. ', '[x]: http://y', '- - a', '> ```\n> x'),
  ),
  blocks: fc
    .tuple(fc.constantFrom('\n\n', '\n\n', '\n'), fc.array(tie('block'), { minLength: 1, maxLength: 3 }))
    .map(([between, blocks]) => blocks.join(between)),
})).blocks;

/** Also what is no Markdown at all. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: anyDocument, weight: 4 },
  { arbitrary: fc.string({ maxLength: 200 }), weight: 1 },
  { arbitrary: fc.string({ unit: 'binary', maxLength: 100 }), weight: 1 },
  { arbitrary: fc.array(word).map((words) => words.join('')), weight: 1 },
);

/** Several messages long on every platform. */
export const anyLongText: fc.Arbitrary<string> = fc
  .tuple(fc.array(anyDocument, { minLength: 1, maxLength: 4 }), fc.integer({ min: 12_500, max: 20_000 }))
  .map(([documents, length]) => {
    const text = documents.join('\n\n');
    return Array.from({ length: Math.ceil(length / (text.length + 2)) }, () => text).join('\n\n');
  });
