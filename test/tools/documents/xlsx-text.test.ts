import { describe, expect, test } from 'vitest';
import { officeText } from '../../../src/extensions/files/documents/office-text.ts';
import { workbook } from './office.ts';

const BOUNDS = { mostChars: 100_000, hasTime: () => true };

/** The text of the only sheet of a workbook. */
function sheet(rows: string, more?: Readonly<Record<string, string>>, properties?: string): string {
  const { text } = officeText(workbook([{ attributes: 'name="S"', rows }], more, properties), BOUNDS);
  return text.replace('## Sheet 1 of 1: S\n', '');
}

const cell = (address: string, value: string | number, attributes = ''): string =>
  `<c r="${address}" ${attributes}><v>${value}</v></c>`;

describe('an Excel workbook', () => {
  test('is its sheets by their names and order, with letters and numbers, and says which are hidden', () => {
    const book = workbook(
      [
        { attributes: 'name="Costs &amp; more"', rows: `<row r="2">${cell('B2', 1)}${cell('D2', 2)}</row>` },
        { attributes: 'name="Old" state="hidden"', rows: `<row r="7">${cell('AA7', 0.1 + 0.2)}</row>` },
        { attributes: 'name="Empty"', rows: '' },
      ],
      { 'docProps/core.xml': '<cp:coreProperties><dc:title>Budget</dc:title></cp:coreProperties>' },
    );
    expect(officeText(book, BOUNDS)).toEqual({
      format: 'xlsx',
      title: 'Budget',
      cut: false,
      text: [
        '## Sheet 1 of 3: Costs & more',
        '| | B | D |',
        '| 2 | 1 | 2 |',
        '',
        '## Sheet 2 of 3: Old, hidden',
        '| | AA |',
        '| 7 | 0.3 |',
        '',
        '## Sheet 3 of 3: Empty',
        '(this sheet has no text)',
      ].join('\n'),
    });
  });

  test('has texts of all kinds on one line each, without how they are pronounced', () => {
    const strings =
      '<sst><si><t>Name</t></si><si><r><t>two </t></r><r><t>runs|</t></r><rPh sb="0"><t>no</t></rPh></si></sst>';
    const rows = `<row>${cell('A1', 0, 't="s"')}${cell('B1', 1, 't="s"')}<c t="inlineStr"><is><t>in\nline</t></is></c></row><row>${cell('A2', 1, 't="b"')}${cell('B2', '#DIV/0!', 't="e"')}${cell('C2', 'a &lt; b', 't="str"')}</row>`;
    expect(sheet(rows, { 'xl/sharedStrings.xml': strings })).toBe(
      String.raw`| | A | B | C |
| 1 | Name | two runs\| | in line |
| 2 | TRUE | #DIV/0! | a < b |`,
    );
  });

  test('has the values of formulas, and the formula where no value was saved', () => {
    const rows = '<row r="1"><c r="A1"><f>SUM(B1:C1)</f><v>12.5</v></c><c r="B1"><f>A1*2</f></c></row>';
    expect(sheet(rows)).toBe('| | A | B |\n| 1 | 12.5 | =A1*2 |');
  });

  test.each([
    ['built-in dates', 'numFmtId="14"', '', 46353, '2026-11-27'],
    ['built-in dates with times', 'numFmtId="22"', '', 46353.75, '2026-11-27 18:00'],
    ['built-in times', 'numFmtId="21"', '', 0.0625 + 1 / 86_400, '01:30:01'],
    ['own dates', 'numFmtId="170"', '[$-407]d/ mmmm yyyy;@', 46353, '2026-11-27'],
    ['own dates with times', 'numFmtId="170"', 'dd.mm.yy hh:mm', 46353.5, '2026-11-27 12:00'],
    ['hours over a day', 'numFmtId="170"', '[h]:mm', 1.5, '36:00'],
    ['shares', 'numFmtId="10"', '', 0.125, '12.5%'],
    ['money', 'numFmtId="170"', '#,##0.00 &quot;dollars&quot;', 12.5, '12.5'],
    ['colours', 'numFmtId="170"', '[Red]0.00', 3, '3'],
    ['dates before March 1900', 'numFmtId="14"', '', 1, '1900-01-01'],
    ['what is no day', 'numFmtId="14"', '', -5, '-5'],
  ])('shows %s', (_what, format, code, value, shown) => {
    const styles = `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="${code}"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf ${format}/></cellXfs></styleSheet>`;
    const text = sheet(`<row>${cell('A1', value, 's="1"')}</row>`, { 'xl/styles.xml': styles });
    expect(text).toBe(`| | A |\n| 1 | ${shown} |`);
  });

  test('counts its days from 1904 where it says so', () => {
    const styles = '<cellXfs><xf numFmtId="14"/></cellXfs>';
    const text = sheet(`<row>${cell('A1', 0, 's="0"')}</row>`, { 'xl/styles.xml': styles }, 'date1904="1"');
    expect(text).toContain('1904-01-01');
  });

  test('that is mostly empty is a list of addresses', () => {
    const rows = Array.from(
      { length: 20 },
      (_, n) => `<row r="${n + 1}">${cell(`${'ABCDEFGHIJKLMNOPQRST'[n]}${n + 1}`, n)}</row>`,
    );
    expect(sheet(rows.join('')).split('\n').slice(0, 2)).toEqual(['A1: 0', 'B2: 1']);
  });

  test('written with a prefix of its own and without addresses is read too', () => {
    const rows = '<x:row><x:c><x:v>1</x:v></x:c><x:c/><x:c><x:v>3</x:v></x:c></x:row>';
    expect(sheet(rows)).toBe('| | A | C |\n| 1 | 1 | 3 |');
  });

  test('is cut where it is too long, or when the time is over', () => {
    const rows = `<row r="1">${cell('A1', 'word')}</row>`.repeat(3_000);
    const book = workbook([
      { attributes: 'name="S"', rows: `<row>${cell('A1', 'x'.repeat(500))}</row>` },
      { attributes: 'name="T"', rows },
    ]);
    const short = officeText(book, { ...BOUNDS, mostChars: 100 });
    expect([short.cut, short.text.length]).toEqual([true, 100]);
    expect(officeText(book, { ...BOUNDS, hasTime: () => false })).toMatchObject({ cut: true });
  });

  test('that is broken, or refers to what is not there, is a sentence or an empty sheet', () => {
    const whole = workbook([{ attributes: 'name="S"', rows: '' }]);
    expect(() => officeText(whole.subarray(0, -40), BOUNDS)).toThrow(
      /^This Excel workbook could not be read: its archive/u,
    );
    const lost = workbook([{ attributes: 'name="S"', rows: '' }], { 'xl/worksheets/sheet1.xml': '' });
    expect(officeText(lost, BOUNDS).text).toContain('(this sheet has no text)');
    expect(sheet(`<row r="x">${cell('A1', 7, 't="s" s="99"')}${cell('B1', 7, 's="99"')}</row>`)).toContain('7');
  });
});
