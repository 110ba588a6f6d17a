import { describe, expect, test } from 'vitest';
import { officeText } from '../../../src/extensions/files/documents/office-text.ts';
import { presentation, shape } from './office.ts';

const BOUNDS = { mostChars: 100_000, hasTime: () => true };

describe('a PowerPoint presentation', () => {
  test('is its slides in order, with titles, text, levels and notes', () => {
    const deep = '<a:p><a:pPr lvl="1"/><a:r><a:t>deep</a:t></a:r></a:p>';
    const deeper = '<a:p><a:pPr lvl="2"/><a:r><a:t>er </a:t></a:r><a:br/><a:fld><a:t>still</a:t></a:fld></a:p>';
    const bytes = presentation([
      {
        shapes: shape('body', 'first', deep, deeper) + shape('title', 'The &amp; plan') + shape('sldNum', '1'),
        notes: shape('sldImg', '') + shape('body', 'say hello', 'slowly') + shape('sldNum', '1'),
      },
      { shapes: shape('ctrTitle', 'End'), attributes: 'show="0"' },
    ]);
    expect(officeText(bytes, BOUNDS)).toEqual({
      format: 'pptx',
      title: null,
      cut: false,
      text: '[slide 1 of 2]\nfirst\n- deep\n  - er still\n# The & plan\nNotes:\nsay hello\nslowly\n\n[slide 2 of 2, hidden]\n# End',
    });
  });

  test('has its tables as rows, and second forms of the same content once', () => {
    const tc = (text: string): string => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
    const table = `<p:graphicFrame><a:tbl><a:tr>${tc('a|b')}${tc('c')}</a:tr><a:tr>${tc('1')}${tc('')}</a:tr></a:tbl></p:graphicFrame>`;
    const both = `<mc:AlternateContent><mc:Choice>${shape('body', 'x')}</mc:Choice><mc:Fallback>${shape('body', 'x')}</mc:Fallback></mc:AlternateContent>`;
    const { text } = officeText(presentation([{ shapes: table + both }]), BOUNDS);
    expect(text).toBe(`[slide 1 of 1]\n${String.raw`| a\|b | c |`}\n| 1 |  |\nx`);
  });

  test('is cut where it is too long, or when the time is over', () => {
    const bytes = presentation(Array.from({ length: 5 }, () => ({ shapes: shape('body', 'word '.repeat(20)) })));
    const short = officeText(bytes, { ...BOUNDS, mostChars: 150 });
    expect([short.cut, short.text.length]).toEqual([true, 150]);
    expect(officeText(bytes, { ...BOUNDS, hasTime: () => false })).toMatchObject({ cut: true });
  });

  test('that is broken is a sentence', () => {
    const bytes = presentation([{ shapes: shape('body', 'x') }]);
    expect(() => officeText(bytes.subarray(0, -40), BOUNDS)).toThrow(
      /^This PowerPoint presentation could not be read: its archive is broken or was cut off/u,
    );
  });
});
