import { describe, expect, test } from 'vitest';
import { readSkillText } from '../../src/core/skills/skill-text.ts';
import { substitute } from '../../src/core/skills/catalog.ts';

const PLAIN = '---\nname: tea\ndescription: Makes tea\n---\n\nBoil water.\n';

function read(text: string, folderName = 'tea'): ReturnType<typeof readSkillText> {
  return readSkillText(text, { folderName });
}

describe('bytes', () => {
  test.each([
    ['a byte order mark', `\uFEFF${PLAIN}`],
    ['Windows line ends', PLAIN.replaceAll('\n', '\r\n')],
    ['a byte order mark and Windows line ends', `\uFEFF${PLAIN.replaceAll('\n', '\r\n')}`],
    ['old Macintosh line ends', PLAIN.replaceAll('\n', '\r')],
    ['white space behind the hyphens', PLAIN.replaceAll('---\n', '--- \t\n')],
    ['no line end at the end', PLAIN.trimEnd()],
    [
      'a folded block with Windows line ends',
      '---\r\nname: tea\r\ndescription: >\r\n  Makes\r\n  tea\r\n---\r\nBoil water.',
    ],
  ])('%s makes no difference', (_, text) => {
    const skill = read(text);

    expect(skill).toMatchObject({ name: 'tea', description: 'Makes tea', warnings: [] });
    expect(skill.body.trimEnd()).toBe('Boil water.');
  });

  test.each([
    ['', 'The skill tea.'],
    ['\uFEFF', 'The skill tea.'],
    [' \n\t\n', 'The skill tea.'],
    ['---', 'The skill tea.'],
    ['---\n', 'The skill tea.'],
    ['---\n---', 'The skill tea.'],
    ['\u0000', '\u0000'],
    ['Makes tea', 'Makes tea'],
  ])('%j has a name and a description all the same', (text, description) => {
    expect(read(text)).toMatchObject({ name: 'tea', description });
  });

  test('a body of 250 kB is read whole and fast', () => {
    const body = 'A line of the body, with a colon: here.\n'.repeat(6_300);
    const begun = performance.now();
    const skill = read(`${PLAIN}${body}`);

    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(skill.body).toBe(`Boil water.\n${body}`);
  });

  test('front matter of 250 kB is read line by line', () => {
    const skill = read(
      `---\nname: tea\ndescription: Makes tea\nnotes: ${'very long '.repeat(25_000)}\n---\nBoil water.`,
    );

    expect(skill).toMatchObject({ name: 'tea', description: 'Makes tea', body: 'Boil water.' });
    expect(skill.warnings).toEqual([expect.stringContaining('it is very long')]);
  });
});

describe('hidden characters', () => {
  test.each([
    ['zero width spaces', 'Boil\u200B wa\u200Bter', 2],
    ['direction controls', 'Boil \u202Ewater\u202C', 2],
    ['tags that spell a sentence', 'Boil\u{E0068}\u{E0065}\u{E006C}\u{E006C}\u{E006F}', 5],
    ['variation selectors in a row behind one emoji', '😀\u{E0101}\u{E0102}\u{E0103}', 3],
    ['a byte order mark inside', 'Boil\uFEFF water', 1],
  ])('%s are counted in a warning', (_, text, count) => {
    const { warnings } = read(`${PLAIN}${text}`);

    expect(warnings).toEqual([`It holds ${count} invisible ${count === 1 ? 'character' : 'characters'}.`]);
  });

  test.each([
    ['a family', '👨‍👩‍👧'],
    ['a flag of a region', '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}'],
    ['an emoji with its variant', '❤️'],
    ['Persian with its joiners', 'می\u200Cخواهم'],
    ['a variant of a Han character', '葛\u{E0100}'],
  ])('%s is not flagged', (_, text) => {
    expect(read(`${PLAIN}${text}`).warnings).toEqual([]);
  });

  test('they are flagged in the front matter too, and gone from the name', () => {
    const skill = read('---\nname: te\u200Ba\ndescription: Makes\u2060 tea\n---\nBoil.');

    expect(skill.name).toBe('te-a');
    expect(skill.warnings).toContain('It holds 2 invisible characters.');
  });
});

describe('names', () => {
  test.each([
    ['Tea', 'tea'],
    ['tea_pot', 'tea-pot'],
    ['--tea--', 'tea'],
    ['Tea / Pot (v2.0)', 'tea-pot-v2-0'],
    ['ＴＥＡ', 'tea'],
    ['x'.repeat(300), 'x'.repeat(64)],
  ])('%s is used as %s', (written, name) => {
    expect(read(`---\nname: "${written}"\ndescription: d\n---\nb`)).toMatchObject({ name, writtenName: written });
  });

  test.each(['天\u{E0141}\u{E0142}', '天\u115f气', '\u034f天', '👩\u200d\u200d\u200d'])(
    'a name holds nothing that cannot be seen: %j',
    (name) => {
      const read = readSkillText(`---\nname: "${name}"\ndescription: d\n---\nx`, { folderName: 'fold' });
      expect(read.name).not.toMatch(/[\u{E0100}-\u{E01EF}]|\u115f|\u3164|\u034f|\u200d/u);
    },
  );

  test('folders keep their names in any script, and those without a letter are kept apart', () => {
    expect([read('# 天气', '天气').name, read('# 茶', '茶').name]).toEqual(['天气', '茶']);
    const [dots, dashes] = [read('# x', '…').name, read('# x', '——').name];
    for (const name of [dots, dashes]) expect(name).toMatch(/^skill-[a-z0-9]+$/u);
    expect(dots).not.toBe(dashes);
  });
});

describe('the folder in the text', () => {
  test.each([
    ['run {baseDir}/x.sh', 'run /skills/tea/x.sh'],
    ['run $SKILL_DIR/x.sh and ${SKILL_DIR}x', 'run /skills/tea/x.sh and /skills/teax'],
    ['keep ${baseDir} and $SKILL_DIRECTORY and { baseDir }', 'keep ${baseDir} and $SKILL_DIRECTORY and { baseDir }'],
  ])('%s becomes %s', (body, expected) => {
    expect(substitute(body, { baseDir: '/skills/tea' })).toBe(expected);
  });

  test('a folder whose name looks like a pattern is put in as it is', () => {
    expect(substitute('{baseDir}', { baseDir: '/a/$&/$1' })).toBe('/a/$&/$1');
  });
});
