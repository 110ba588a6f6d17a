import { deflateSync } from 'node:zlib';
import type { Bomb } from './document-bombs.ts';

/** The same bytes packed so many times over. */
function packed(bytes: Buffer, times: number): Buffer {
  let result = bytes;
  for (let n = 0; n < times; n += 1) result = deflateSync(result, { level: 9 });
  return result;
}

const filters = (times: number): string => `/Filter[${'/FlateDecode'.repeat(times)}]`;
const spaces = (megabytes: number): Buffer => Buffer.alloc(megabytes * 1024 ** 2, ' ');

/** One object: what it holds, and a stream where it has one. */
type PdfObject = string | { readonly dict: string; readonly stream: Buffer };

/** A PDF of these objects, from 1; the first is the catalogue. `trailer`: more of the trailer. */
function pdf(objects: readonly PdfObject[], trailer = ''): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  const write = (part: string | Buffer): void => {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'latin1') : part;
    parts.push(bytes);
    at += bytes.length;
  };
  write('%PDF-1.7\n');
  const offsets = objects.map((object, n) => {
    const offset = at;
    if (typeof object === 'string') write(`${n + 1} 0 obj\n${object}\nendobj\n`);
    else {
      write(`${n + 1} 0 obj\n<<${object.dict}/Length ${object.stream.length}>>\nstream\n`);
      write(object.stream);
      write('\nendstream\nendobj\n');
    }
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const start = at;
  write(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`);
  write(`trailer\n<</Size ${objects.length + 1}/Root 1 0 R${trailer}>>\nstartxref\n${start}\n%%EOF\n`);
  return Buffer.concat(parts);
}

const CATALOG = '<</Type/Catalog/Pages 2 0 R>>';
const PAGES = '<</Type/Pages/Kids[3 0 R]/Count 1>>';
const page = (more = ''): string => `<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R${more}>>`;

/** A page whose content stream is this. */
function content(dict: string, stream: Buffer, resources = '', more: readonly PdfObject[] = []): Buffer {
  return pdf([CATALOG, PAGES, page(resources), { dict, stream }, ...more]);
}

const TEXT = Buffer.from('BT /F1 9 Tf 1 1 Td (A) Tj ET');
const WITH_FONT = '/Resources<</Font<</F1 5 0 R>>>>';

/** A page that draws one image. */
function image(dict: string, stream: Buffer): Buffer {
  const resources = '/Resources<</XObject<</I 5 0 R>>>>';
  return content('', Buffer.from('q 9 0 0 9 0 0 cm /I Do Q'), resources, [
    { dict: `/Type/XObject/Subtype/Image${dict}`, stream },
  ]);
}

/** Bytes that are all alike, in LZW as PDF has it: each code is one longer than the one before. */
function lzw(codes: number): Buffer {
  let bits = '';
  let next = 258;
  let width = 9;
  const put = (code: number): void => void (bits += code.toString(2).padStart(width, '0'));
  for (let n = 0; n < codes; n += 1) {
    if (next === 258) {
      put(256);
      put(32);
    } else put(next - 1);
    next += 1;
    width = next >= 2_048 ? 12 : next >= 1_024 ? 11 : next >= 512 ? 10 : 9;
    if (next === 4_094) [next, width] = [258, 12];
    if (next === 258) width = 12;
  }
  put(257);
  const bytes = bits.match(/.{1,8}/gu) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2)));
}

/** A cross-reference stream, and no table. */
function xrefStream(dict: string, stream: Buffer): Buffer {
  const head = '%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n';
  const body = `5 0 obj\n<</Type/XRef/Root 1 0 R${dict}/Length ${stream.length}>>\nstream\n`;
  const tail = `\nendstream\nendobj\nstartxref\n${head.length}\n%%EOF\n`;
  return Buffer.concat([Buffer.from(head + body, 'latin1'), stream, Buffer.from(tail, 'latin1')]);
}

function toUnicode(map: string): Buffer {
  return content('', TEXT, WITH_FONT, [
    '<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[7 0 R]/ToUnicode 6 0 R>>',
    { dict: filters(1), stream: packed(Buffer.from(map), 1) },
    '<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(A)/Ordering(I)/Supplement 0>>>>',
  ]);
}

export const PDF_BOMBS: readonly Bomb[] = [
  {
    name: 'PDF: a page packed three times over (600 MB)',
    bytes: () => content(filters(3), packed(spaces(600), 3)),
  },
  { name: 'PDF: a page packed once (400 MB)', bytes: () => content(filters(1), packed(spaces(400), 1)) },
  {
    name: 'PDF: a page packed eight times over (300 MB)',
    bytes: () => content(filters(8), packed(spaces(300), 8)),
  },
  {
    name: 'PDF: run lengths within Flate (400 MB)',
    bytes: () =>
      content('/Filter[/FlateDecode/RunLengthDecode]', packed(Buffer.alloc(6_400_000, Buffer.from([129, 32])), 1)),
  },
  { name: 'PDF: LZW (300 MB)', bytes: () => content('/Filter/LZWDecode', lzw(150_000)) },
  {
    name: 'PDF: an object stream (400 MB)',
    bytes: () =>
      pdf([
        CATALOG,
        PAGES,
        page(),
        { dict: `/Type/ObjStm/N 1000000/First 100000000${filters(1)}`, stream: packed(spaces(400), 1) },
      ]),
  },
  {
    name: 'PDF: a cross-reference stream (400 MB)',
    bytes: () =>
      xrefStream(`/Size 100000000/W[1 2 1]/Index[0 100000000]${filters(1)}`, packed(Buffer.alloc(400 * 1024 ** 2), 1)),
  },
  {
    name: 'PDF: a predictor over rows of a gigabyte',
    bytes: () =>
      content(
        `${filters(1)}/DecodeParms[<</Predictor 15/Columns 1000000000/Colors 4/BitsPerComponent 16>>]`,
        packed(spaces(100), 1),
      ),
  },
  {
    name: 'PDF: a cross-reference table that follows itself',
    bytes: () => {
      const whole = pdf([CATALOG, PAGES, page(), { dict: '', stream: TEXT }]).toString('latin1');
      const start = whole.lastIndexOf('xref\n0');
      return Buffer.from(whole.replace('/Root 1 0 R', `/Root 1 0 R/Prev ${start}`), 'latin1');
    },
  },
  {
    name: 'PDF: a tree of pages that holds itself',
    bytes: () => pdf([CATALOG, '<</Type/Pages/Kids[2 0 R 2 0 R 2 0 R]/Count 1000000>>']),
  },
  {
    name: 'PDF: a tree of pages 50,000 deep',
    bytes: () =>
      pdf([
        CATALOG,
        ...Array.from({ length: 50_000 }, (_, n) => `<</Type/Pages/Kids[${n + 3} 0 R]/Count 1/Parent ${n + 1} 0 R>>`),
        '<</Type/Page/MediaBox[0 0 9 9]>>',
      ]),
  },
  {
    name: 'PDF: two thousand million pages, it says',
    bytes: () => pdf([CATALOG, '<</Type/Pages/Kids[3 0 R]/Count 2147483647>>', page(), { dict: '', stream: TEXT }]),
  },
  {
    name: 'PDF: an image of 65,535 x 65,535',
    bytes: () =>
      image(
        `/Width 65535/Height 65535/ColorSpace/DeviceRGB/BitsPerComponent 8${filters(2)}`,
        packed(Buffer.alloc(300 * 1024 ** 2), 2),
      ),
  },
  {
    name: 'PDF: a JBIG2 image of 2,000 million lines',
    bytes: () => {
      const size = Buffer.from('00000000300001000000137fffffff7fffffff0000000000000000000000', 'hex');
      return image(
        '/Width 2147483647/Height 2147483647/BitsPerComponent 1/ColorSpace/DeviceGray/Filter/JBIG2Decode',
        size,
      );
    },
  },
  {
    name: 'PDF: forms that draw themselves',
    bytes: () => {
      const form = Buffer.from('/X Do /X Do /X Do');
      const resources = '/Resources<</XObject<</X 5 0 R>>>>';
      return content('', form, resources, [
        { dict: `/Type/XObject/Subtype/Form/BBox[0 0 9 9]${resources}`, stream: form },
      ]);
    },
  },
  {
    name: 'PDF: forms that draw ten forms each, ten levels down',
    bytes: () => {
      const levels = Array.from({ length: 10 }, (_, n): PdfObject => {
        const dict = `/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X ${n + 6} 0 R>>/Font<</F1 15 0 R>>>>`;
        return { dict, stream: Buffer.from(n === 9 ? 'BT /F1 9 Tf (AAAAAAAA) Tj ET' : '/X Do '.repeat(10)) };
      });
      const font = '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>';
      return content('', Buffer.from('/X Do '.repeat(10)), '/Resources<</XObject<</X 5 0 R>>>>', [...levels, font]);
    },
  },
  {
    name: 'PDF: a map of characters with a million ranges',
    bytes: () =>
      toUnicode(`begincmap\n${'100 beginbfrange\n<0000> <FFFF> <0000>\nendbfrange\n'.repeat(1_000_000)}endcmap`),
  },
  {
    name: 'PDF: a map of characters from 0 to 4,294,967,295',
    bytes: () => toUnicode('begincmap\n1 beginbfrange\n<00000000> <FFFFFFFF> <0000>\nendbfrange\nendcmap'),
  },
  {
    name: 'PDF: arrays, two million deep',
    bytes: () => content('', Buffer.concat([Buffer.alloc(2_000_000, '['), TEXT])),
  },
  {
    name: 'PDF: a font file (400 MB)',
    bytes: () =>
      content('', TEXT, WITH_FONT, [
        '<</Type/Font/Subtype/TrueType/BaseFont/X/FontDescriptor 6 0 R/FirstChar 0/LastChar 1/Widths[9 9]>>',
        '<</Type/FontDescriptor/FontName/X/Flags 4/FontFile2 7 0 R>>',
        { dict: filters(2), stream: packed(Buffer.alloc(400 * 1024 ** 2), 2) },
      ]),
  },
  {
    name: 'PDF: ten million words on one page',
    bytes: () =>
      content(filters(1), packed(Buffer.from(`BT /F1 9 Tf ${'(word) Tj '.repeat(10_000_000)}ET`), 1), WITH_FONT, [
        '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
      ]),
  },
];
