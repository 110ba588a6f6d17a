/** One made-up text and what has to be read from it. */
export interface Synthetic {
  readonly folder: string;
  readonly text: string;
  /** As its author meant them. */
  readonly name: string;
  readonly description: string;
}

type Pick = <T>(items: readonly T[]) => T;

const SUBJECTS = [
  'plants',
  'invoices',
  'boats',
  'a garden',
  'the news',
  'bread',
  '天气',
  'les trains',
  'PDF files',
  'the "old" clock',
];
const VERBS = ['Counts', 'Sorts', 'Draws', 'Mends', 'Finds', 'Explains', 'Cooks', 'Photographs'];
const TAILS = [
  '',
  '.',
  '. Use when asked to.',
  ' (daily), also on Sundays.',
  '. Use when: it rains',
  '. Triggers: "go", "stop"',
  " and it's quick",
  ' — even at night',
  '; see https://example.org/a#b',
  ' #1 of all',
  ' for 50% less',
  ' {soon}',
  ', [maybe] two',
];
const EMOJI = ['🌱', '🧾', '🐙', '🌤️'];

/** Builds `count` texts in the styles that are found in public collections; the same seed gives the same texts. */
export function syntheticSkills(seed: number, count: number): Synthetic[] {
  const next = generator(seed);
  const pick: Pick = (items) => {
    const item = items[Math.floor(next() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  };
  return Array.from({ length: count }, (_, at) => synthetic(at, pick));
}

/** mulberry32: numbers in [0, 1). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function synthetic(at: number, pick: Pick): Synthetic {
  const folder = `skill-${at}`;
  const sentence = `${pick(VERBS)} ${pick(SUBJECTS)}${pick(TAILS)}`;
  const frame = pick(FRAMES);
  if (frame === 'none') {
    return { folder, name: folder, description: sentence, text: `# ${folder}\n\n${sentence}\n\n## More\n\n- one\n` };
  }
  const written = pick(DESCRIPTIONS)(sentence, pick);
  const name = pick(NAMES)(folder);
  const missing = pick([false, false, false, false, false, false, false, false, true]);
  const fields = [`name: ${name}`, ...(missing ? [] : [written]), ...others(pick)];
  if (pick([true, false, false])) fields.reverse();
  const body = missing
    ? `# ${folder}\n\n${sentence}\n`
    : `# ${folder}\n\nDo it like this: carefully.\n\n---\n\nDone.\n`;
  return { folder, name: folder, description: sentence, text: framed(frame, fields, body) };
}

const FRAMES = ['plain', 'plain', 'plain', 'plain', 'bom', 'crlf', 'tight', 'unclosed', 'blank', 'none'] as const;

function framed(frame: (typeof FRAMES)[number], fields: readonly string[], body: string): string {
  const block = fields.join('\n');
  const text = `---\n${block}\n---\n\n${body}`;
  switch (frame) {
    case 'plain':
    case 'none':
      return text;
    case 'bom':
      return `\uFEFF${text}`;
    case 'crlf':
      return text.replaceAll('\n', '\r\n');
    case 'tight':
      return `---\n${block}\n---\n${body}`;
    case 'unclosed':
      return `---\n${block}\n\n${body}`;
    case 'blank':
      return `\n\n${text}`;
  }
}

const NAMES: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name,
  (name) => `"${name}"`,
  (name) => `'${name}'`,
  (name) => name.replaceAll('-', '_'),
  (name) => name.replace('skill-', 'Skill '),
  (name) => `${name}   `,
];

/** Most of them write bad YAML for some of the sentences. */
const DESCRIPTIONS: readonly ((sentence: string, pick: Pick) => string)[] = [
  (sentence) => `description: ${sentence}`,
  (sentence) => `description: "${sentence}"`,
  (sentence) => `description: "${sentence.replaceAll('"', '\\"')}"`,
  (sentence) => `description: '${sentence}'`,
  (sentence) => `description: '${sentence.replaceAll("'", "''")}'`,
  (sentence) => `description: >\n  ${sentence.replace(' ', '\n  ')}`,
  (sentence) => `description: >-\n    ${sentence}`,
  (sentence) => `description: |\n  ${sentence}`,
  (sentence) => `description: |\n${sentence}`,
  (sentence) => `description:\n  ${sentence}`,
  (sentence, pick) => `description:${pick(['\t', '   '])}${sentence}`,
  (sentence) => `description: ${JSON.stringify(sentence)}`,
];

function others(pick: Pick): string[] {
  const needs = `"requires":{"bins":["gh"],"env":["GH_TOKEN"]}`;
  const owner = pick(['nanobot', 'openclaw', 'clawdbot', 'moltbot', 'clawdis']);
  const fields: readonly (readonly string[])[] = [
    pick([
      [],
      [`metadata: {"${owner}":{"emoji":"${pick(EMOJI)}",${needs}}}`],
      [`metadata: {"${owner}":{"emoji":"${pick(EMOJI)}",${needs},},}`],
      ['metadata:', '  {', `    "${owner}":`, '      {', `        ${needs},`, '      },', '  }'],
      [`metadata: {`, `  "${owner}": { ${needs} }`, '}'],
      ['metadata:', '  author: somebody', '  version: "1.0"', `  ${owner}:`, '    always: true'],
      ['metadata:', `\t${owner}:`, '\t\talways: true'],
      [`metadata: '{"${owner}":{${needs}}}'`],
    ]),
    pick([[], [], ['license: MIT'], ['license: Complete terms in LICENSE.txt']]),
    pick([[], [], ['homepage: https://example.org/x']]),
    pick([
      [],
      [],
      ['allowed-tools: Read, Bash(git add:*, git commit:*)'],
      ['allowed-tools:', '  - Read', '  - Grep'],
      ['allowed-tools: [Read, Bash(gh:*)]'],
    ]),
    pick([
      [],
      [],
      [],
      ['argument-hint: [what] [--when DAY]'],
      ['version: 1.0.0'],
      ['# a comment', 'updated: 2024-01-01'],
    ]),
  ];
  return fields.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
}
