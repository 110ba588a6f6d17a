import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { json, terminalText, escapeInvisible } from '../../src/core/cli/format.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { CommandLine } from './command-line.ts';

const TAGS = 'send keys'.replace(/./gu, (sign) => String.fromCodePoint(0xe0000 + sign.charCodeAt(0)));
/** What text can do to a terminal or to whoever reads it there. */
const VECTORS: Readonly<Record<string, string>> = {
  'a colour': '\u001B[31mred',
  'the cursor moved': '\u001B[2J\u001B[H',
  'a title': '\u001B]0;title\u0007',
  'the clipboard written': '\u001B]52;c;ZXZpbA==\u0007',
  'a link': '\u001B]8;;http://evil.example\u001B\\click',
  'a device asked': '\u001B[6n',
  'a string of the device': '\u001BP1$r\u001B\\',
  'the 8-bit introducer': '\u009B31m',
  'the 8-bit system command': '\u009D0;x\u009C',
  'an application command': '\u001B_Gi=1\u001B\\',
  'a reset': '\u001Bc',
  'other letters': '\u001B(0lqk',
  'a carriage return': 'good\revil',
  'a backspace': 'evil\b\b\b\bgood',
  'a bell': '\u0007',
  'a form feed': '\u000C',
  'a vertical tab': '\u000B',
  'a delete': '\u007F',
  'a nul': 'a\u0000b',
  'shift out': '\u000E',
  'next line': 'a\u0085b',
  'right to left': '\u202Egnp.exe',
  'right to left embedded': '\u202Bx\u202C',
  'left to right overridden': '\u202Dx',
  isolates: '\u2066x\u2069',
  'a first strong isolate': '\u2068x',
  'marks of direction': '\u200Ex\u200F\u061C',
  'zero width space': 'pay\u200Bpal',
  'zero width joiners': 'pay\u200Cp\u200Dal',
  'a word joiner': 'pay\u2060pal',
  'a byte order mark': 'pay\uFEFFpal',
  'a soft hyphen': 'pay\u00ADpal',
  'tag characters': TAGS,
  'variation selectors': 'a\uFE01b\u{E0101}',
  fillers: 'a\u3164b\u115Fc\uFFA0',
  'line and paragraph separators': 'a\u2028b\u2029c',
  annotations: '\uFFF9a\uFFFAb\uFFFB',
  'half a pair': 'a\uD83Db',
};
const NEVER = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

describe('text for a terminal', () => {
  test.each(Object.entries(VECTORS))('holds nothing that acts or hides: %s', (_name, vector) => {
    for (const shown of [terminalText(`a ${vector} b`), escapeInvisible(`a ${vector} b`), json({ [vector]: vector })]) {
      expect(shown).not.toMatch(NEVER);
    }
    expect(JSON.parse(json({ [vector]: vector }))).toEqual({ [vector]: vector });
  });

  test.each(['Family 👨‍👩‍👧 and 👍🏽', 'می‌خواهم', 'क्‍ष', '❤️ 1️⃣', 'Zoë, 日本語, עברית', 'a\tb\nc'])(
    'keeps what is seen: %s',
    (text) => {
      expect(terminalText(text)).toBe(text);
    },
  );

  test('spells out what would not be seen', () => {
    expect(terminalText('a\u202Eb\u{E0073}')).toBe(String.raw`a\u{202e}b\u{e0073}`);
  });
});

describe('commands', () => {
  const EVIL = `Bakes\u202E\u200B${TAGS}\u009B31m.`;

  test.each([
    ['skills', 'list'],
    ['skills', 'list', '--json'],
    ['skills', 'show', 'evil'],
    ['skills', 'show', 'evil', '--json'],
    ['skills', 'check'],
    ['skills', 'check', '--json'],
    ['skills', 'show', 'EVIL'],
    ['EVIL'],
    ['status', 'EVIL'],
  ])('show nothing that acts or hides: assistant %s %s', async (...words) => {
    const line = new CommandLine();
    line.env = { HOME: temporaryFolder(), PATH: '' };
    const folder = join(line.home, 'workspace/skills/evil');
    mkdirSync(folder, { recursive: true });
    const front = `name: evil\ndescription: "${EVIL}"\nlicense: "${EVIL}"\nrequires: {bins: ["${EVIL}"]}`;
    writeFileSync(join(folder, 'SKILL.md'), `---\n${front}\n---\n${EVIL}\n`);
    await line.run(...words.map((word) => (word === 'EVIL' ? EVIL : word)));
    expect(line.out + line.err).not.toBe('');
    expect(line.out + line.err).not.toMatch(NEVER);
  });

  test('write no JSON but by the function that escapes what is not seen', () => {
    const folder = new URL('../../src/cli/', import.meta.url);
    const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const files = all.filter((name) => name.endsWith('.ts') && name !== 'format.ts');
    const others = files.filter((name) =>
      /write\([^;]*JSON\.stringify|JSON\.stringify\([^;]*, null, 2\)/u.test(
        readFileSync(new URL(name, folder), 'utf8'),
      ),
    );
    expect(files.length).toBeGreaterThan(15);
    expect(others).toEqual([]);
  });
});
