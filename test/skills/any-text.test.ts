import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { readSkillText } from '../../src/core/skills/skill-text.ts';

/** Longest time on the processor for any text, in microseconds. */
const LONGEST = 500_000;

function check(text: string, folderName = 'some-skill'): void {
  const begun = process.threadCpuUsage();
  const skill = readSkillText(text, { folderName });

  const spent = process.threadCpuUsage(begun);

  expect(spent.user + spent.system).toBeLessThan(LONGEST);
  expect(skill.name).toMatch(
    /^(?:[\p{L}\p{M}\p{N}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u200D-])+$/u,
  );
  expect(skill.name).not.toMatch(/^-|-$/u);
  expect(skill.name.length).toBeLessThanOrEqual(64);
  expect(skill.name).toBe(skill.name.toLowerCase());
  expect(skill.description).toMatch(/^\S(?:.*\S)?$/su);
  expect(skill.description).not.toMatch(/\n/u);
  expect(skill.body).not.toContain('\r');
}

const PIECES = [
  '---', '---\n', '\n---\n', '...\n', '\n', '\r\n', '\t', ' ', '  ', ':', ': ', '- ', '# ', '"', "'", '`', '```\n', '{', '}', '[', ']', ',',
  '|\n', '>-\n', '&a ', '*a', '!x ', '%', '@', '<<: ', '? ', '<!--', '-->', '\uFEFF', '\u200B', '\u{E0041}', '\u0000', '\uD800', '：',
  'name: ', 'description: ', 'metadata: ', 'requires: ', 'allowed-tools: ', 'Bash(git:*)', 'openclaw', 'always: true', 'js', '__proto__: ',
  'constructor: ', 'toString: ', 'excerpt_separator: ', 'text', 'words of a text', '2024-01-01', '1e999', 'null', '~',
]; // prettier-ignore

const text = fc.array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: 'binary' })), {
  maxLength: 60,
});

test('no text whatsoever throws, takes long, or is left without a name and a description', () => {
  fc.assert(
    fc.property(text, fc.string({ unit: 'binary' }), (pieces, folder) => check(pieces.join(''), folder)),
    { numRuns: 500 },
  );
}, 180_000);

test('no front matter of such pieces throws, takes long, or is left without a name and a description', () => {
  fc.assert(
    fc.property(text, text, (block, body) => check(`---\n${block.join('')}\n---\n${body.join('')}`)),
    { numRuns: 500 },
  );
}, 180_000);

test.each(PIECES)(
  '%j thousands of times over does not take long',
  (piece) => {
    const many = piece.repeat(Math.ceil(60_000 / piece.length));
    check(many);
    check(`---\n${many}`);
    check(`---\n${many}\n---\n`);
    check(`---\nname: ${many}\n---\n`);
  },
  180_000,
);

test.each([
  ['nested lists', '['],
  ['nested maps', '{"a":'],
  ['anchors', '&a '],
  ['nested words', '- '],
  ['closing braces', '}'],
  ['quotes', '"'],
  ['tools', 'Bash('],
  ['colons', ':'],
])(
  '%s as deep as strict reading goes do not take long',
  (_, piece) => {
    const many = piece.repeat(Math.floor(5_000 / piece.length));
    for (const key of ['description', 'metadata', 'allowed-tools', 'x']) {
      check(`---\n${key}: ${many}\n---\n`);
      check(`---\n${key}: '${many}'\n---\n`);
    }
  },
  180_000,
);

const LANGUAGES = [
  'js', 'JS', 'javascript', 'JavaScript', ' js', 'js ', 'coffee', 'coffeescript', 'cson', 'json', 'toml', 'node', 'ts',
  'constructor', 'toString', 'valueOf', '__proto__', 'hasOwnProperty', 'yaml', 'yml', '',
]; // prettier-ignore

const CODE = [
  'globalThis.skillRan = true',
  '{ name: (globalThis.skillRan = true) }',
  '({ get name() { globalThis.skillRan = true; return "x"; } })',
  'module.exports = (() => { globalThis.skillRan = true; })()',
  'name: !!js/function "function () { globalThis.skillRan = true }"',
  'name: ${globalThis.skillRan = true}',
];

afterEach(() => {
  Reflect.deleteProperty(globalThis, 'skillRan');
});

test.each(LANGUAGES)('front matter in the language %j never runs code', (language) => {
  for (const code of CODE) {
    for (const lead of ['', '\uFEFF', '\n', '<!-- a -->\n']) {
      check(`${lead}---${language}\n${code}\n---\nBody.`);
      check(`${lead}---${language}\r\n${code}\r\n`);
      check(`${lead}----${language}\n${code}\n---\n`);
    }
  }

  expect(globalThis).not.toHaveProperty('skillRan');
});

test('the same bad text is read the same a second time', () => {
  const bad = '---\nname: twice\ndescription: Use when: read again\n---\nBody.';

  expect(readSkillText(bad, { folderName: 'twice' })).toEqual(readSkillText(bad, { folderName: 'twice' }));
  expect(readSkillText(bad, { folderName: 'twice' }).description).toBe('Use when: read again');
});
