export function times(count: number, text: string | ((n: number) => string)): string {
  return typeof text === 'string' ? text.repeat(count) : Array.from({ length: count }, (_, n) => text(n)).join('');
}

interface HostilePage {
  readonly name: string;
  readonly page: () => string;
  /** How its text begins. */
  readonly expected: RegExp;
}

/** Each makes some parser take minutes, or all memory. */
export const WORST: readonly HostilePage[] = [
  {
    name: '2 MB of nested elements',
    page: () => `${times(180_000, '<div>')}deep${times(180_000, '</div>')}`,
    expected: /^deep$/u,
  },
  {
    name: '100,000 links',
    page: () => times(100_000, (n) => `<a href="/l/${n}">l${n}</a> `),
    expected: /^l0 l1/u,
  },
  {
    name: '19,000 elements, as many as are parsed',
    page: () => times(475, `${times(20, '<div><span>')}x`),
    expected: /^x/u,
  },
  { name: '150,000 attributes', page: () => `<p ${times(150_000, (n) => `a${n}=1 `)}>text</p>`, expected: /^text$/u },
  {
    name: 'hidden elements that end far above',
    page: () => `text${times(60_000, '<p hidden><i style=a></b>')}${times(60_000, '</p>')}`,
    expected: /^text$/u,
  },
  { name: 'comments that never end', page: () => `text${times(500_000, '<!--')}`, expected: /^text$/u },
  { name: 'quotes that never end', page: () => `text${times(400_000, '<a ="')}`, expected: /^text$/u },
];

/** More of them, for long runs. */
export const CORPUS: readonly HostilePage[] = [
  ...WORST,
  { name: '600,000 elements that never end', page: () => `${times(600_000, '<b>')}deep`, expected: /^deep$/u },
  {
    name: '170,000 links in each other',
    page: () => times(170_000, '<a href=x>y'),
    expected: /^y/u,
  },
  {
    name: 'a table of 60,000 rows',
    page: () => `<table>${times(60_000, '<tr><td>a</td><td>b</td></tr>')}</table>`,
    expected: /^(?:\| )?a/u,
  },
  { name: 'a list of 19,000 items', page: () => `<ol>${times(19_000, '<li>x')}</ol>`, expected: /^(?:1\. )?x/u },
  { name: '90,000 tables in each other', page: () => times(90_000, '<p>x<table><tr><td>'), expected: /^x/u },
  { name: '200 tables in each other', page: () => times(63, '<p>x<table><tr><td>'), expected: /x/u },
  { name: '400,000 line breaks', page: () => `text${times(400_000, '<br>')}`, expected: /^text$/u },
  { name: '2 MB of spaces', page: () => `<p>a${times(1_900_000, ' ')}b</p>`, expected: /^a b$/u },
  {
    name: '2 MB of empty lines in code',
    page: () => `<pre>a${times(1_900_000, '\n')}b</pre>`,
    expected: /^(?:```\n)?a\n\nb(?:\n```)?$/u,
  },
  { name: '2 MB of opening brackets', page: () => times(2_000_000, '<'), expected: /^<{1000}/u },
  {
    name: 'closing tags of nothing',
    page: () => `${times(100_000, '<div>')}${times(200_000, '</span>')}text`,
    expected: /^text$/u,
  },
  { name: 'Markdown marks', page: () => `<p>${times(490_000, '[*_`')}</p>`, expected: /^\[\*_`/u },
  { name: '2 MB of invisible characters', page: () => `<p>a${times(660_000, '\u200b')}b</p>`, expected: /^ab$/u },
  { name: 'invisible entities', page: () => `<p>a${times(270_000, '&#8203;')}b</p>`, expected: /^ab$/u },
  {
    name: 'a base that makes each link long',
    page: () => `<base href="https://x.example/${times(1_900, 'a')}/">${times(110_000, '<a href=b>c</a> ')}`,
    expected: /^\[?c/u,
  },
  {
    name: 'a style without end',
    page: () => `<p style="${times(240_000, 'display:')}">text</p>`,
    expected: /^text$/u,
  },
  {
    name: 'spaces in a style',
    page: () => `<p style="display:none${times(40_000, ' ')}x;${times(9_000, 'font-size:0 ')}">text</p>`,
    expected: /^(?:text)?$/u,
  },
];
