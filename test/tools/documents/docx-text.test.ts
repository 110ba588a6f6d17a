import { describe, expect, test } from 'vitest';
import { officeText } from '../../../src/extensions/files/documents/office-text.ts';
import { xmlEvents } from '../../../src/extensions/files/documents/xml-events.ts';
import { docxOf, paragraph } from './docx.ts';

const textOf = (body: string, more?: Readonly<Record<string, string>>): string =>
  officeText(docxOf(body, more), { mostChars: 100_000, hasTime: () => true }).text;

describe('a Word document', () => {
  test('is its paragraphs, with headings, lists, tabs and line breaks', () => {
    const body = [
      paragraph('Über uns', '<w:pStyle w:val="Heading1"/>'),
      paragraph('Teil &amp; mehr', "<w:pStyle w:val='berschrift2'/>"),
      '<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>',
      paragraph('one', '<w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="0"/></w:numPr>'),
      '<w:p/>',
      paragraph('&lt;end&gt; &#228; &#x1F600; &unknown;'),
    ].join('');
    expect(textOf(body)).toBe('# Über uns\n## Teil & mehr\na\tb\nc\n- one\n\n<end> ä 😀 &unknown;');
  });

  test('has its tables as rows, also one in a cell', () => {
    const cell = (inside: string): string => `<w:tc><w:tcPr/>${inside}</w:tc>`;
    const row = (...cells: string[]): string => `<w:tr>${cells.map(cell).join('')}</w:tr>`;
    const inner = `<w:tbl>${row(paragraph('x'), paragraph('y'))}</w:tbl>`;
    const table = `<w:tbl>${row(paragraph('Name'), paragraph('a') + paragraph('b'))}${row(inner + paragraph('z'), '')}</w:tbl>`;
    expect(textOf(table + paragraph('after'))).toBe('| Name | a b |\n| | x | y | z |  |\nafter');
  });

  test('has its text boxes once, and its footnotes', () => {
    const box = (text: string): string => `<w:txbxContent>${paragraph(text)}</w:txbxContent>`;
    const body = `<w:p><w:r><mc:AlternateContent><mc:Choice>${box('boxed')}</mc:Choice><mc:Fallback>${box('boxed')}</mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>outside</w:t></w:r></w:p>`;
    const notes = { 'word/footnotes.xml': `<w:footnotes>${paragraph('a note')}</w:footnotes>` };
    expect(textOf(body, notes)).toBe('boxed\noutside\na note');
  });

  test('shows nothing that was deleted or hidden, and no field codes', () => {
    const body = [
      '<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>',
      '<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val="false"/></w:rPr><w:t> seen</w:t></w:r>',
      '<w:r><w:instrText>HYPERLINK "x"</w:instrText></w:r></w:p>',
    ].join('');
    expect(textOf(body)).toBe('new seen');
  });

  test('has the title that it says', () => {
    const core = '<cp:coreProperties><dc:title>The &quot;plan&quot;</dc:title></cp:coreProperties>';
    const found = officeText(docxOf(paragraph('x'), { 'docProps/core.xml': core }), {
      mostChars: 100,
      hasTime: () => true,
    });
    expect(found.title).toBe('The "plan"');
  });

  test('is cut where it is too long', () => {
    const found = officeText(docxOf(paragraph('0123456789').repeat(100)), { mostChars: 50, hasTime: () => true });
    expect(found).toMatchObject({ cut: true, text: expect.stringMatching(/^(?:0123456789\n?)+/u) });
    expect(found.text.length).toBeLessThanOrEqual(50);
  });

  test.each([['half of it', docxOf(paragraph('x')).slice(0, 150), 'broken or was cut off']])(
    'that is %s is refused with a sentence',
    (_name, bytes, sentence) => {
      expect(() => officeText(bytes, { mostChars: 100, hasTime: () => true })).toThrow(sentence);
    },
  );

  test('that unpacks to more than can be read is refused before it is unpacked', () => {
    const bytes = Buffer.from(docxOf(paragraph('x')));
    bytes.writeUInt32LE(61 * 1024 * 1024, bytes.lastIndexOf('word/document.xml') - 22);
    expect(() => officeText(bytes, { mostChars: 100, hasTime: () => true })).toThrow(
      /bytes of text, which is too much\.$/u,
    );
  });

  test('that says it is smaller than it is gives no more than it says', () => {
    const bytes = Buffer.from(docxOf(paragraph('x'.repeat(1_000_000))));
    const entry = bytes.lastIndexOf('word/document.xml') - 46;
    bytes.writeUInt32LE(400, entry + 24);
    let text = '';
    try {
      text = officeText(bytes, { mostChars: 5_000_000, hasTime: () => true }).text;
    } catch (error) {
      expect(String(error)).toContain('could not be read');
    }
    expect(text.length).toBeLessThan(500);
  });
});

describe('XML', () => {
  test('is read in time that grows with its length, whatever it is', () => {
    for (const piece of ['<', '<a ', '<a "', "<a b='", '<!--', '<![CDATA[', '&#', '<a><', '</', '<?', 'a="']) {
      const start = performance.now();
      expect([...xmlEvents(piece.repeat(50_000))].length).toBeGreaterThanOrEqual(0);
      expect(performance.now() - start).toBeLessThan(3_000);
    }
  });

  test('gives comments, declarations and entities of its own no meaning', () => {
    const xml =
      '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a b="1 &lt; 2"><!-- <c/> -->&x;<![CDATA[<d>]]></a>';
    const events = [...xmlEvents(xml)];
    expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : []))).toEqual([']>', '&x;', '<d>']);
    const open = events.find((event) => event.type === 'open');
    expect([open?.name, open?.attribute('b'), open?.attribute('c')]).toEqual(['a', '1 < 2', undefined]);
  });
});
