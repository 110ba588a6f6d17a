import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync, zipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { longestBlock } from '../support/event-loop.ts';
import { fileTools, type FileTools } from '../support/file-tools.ts';
import { docxOf, paragraph } from './documents/docx.ts';
import { presentation, shape, workbook } from './documents/office.ts';
import { pdfOf } from './web-world.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('a document', () => {
  test('PDF is read as text, page by page, and its thread says what goes on', async () => {
    await using files = await fileTools();
    await files.put('report', pdfOf(['Hello there', 'The end'], 'A report'));
    const said: string[] = [];
    const answer = await files.call('read_file', { path: 'report' }, { progress: (text) => said.push(text) });
    expect(answer).toMatchObject({
      title: 'read report',
      output: '1\t[page 1 of 2]\n2\tHello there\n3\t\n4\t[page 2 of 2]\n5\tThe end',
      metadata: { lines: 5, document: 'pdf', documentTitle: 'A report', truncated: false },
      private: true,
    });
    expect(said).toEqual(['reading report']);
    const next = await files.call('read_file', { path: 'report', offset: 5 }, { progress: (text) => said.push(text) });
    expect(next.output).toBe('5\tThe end');
    expect(said).toHaveLength(1);
  });

  test('that changed is read anew', async () => {
    await using files = await fileTools();
    const path = await files.put('a.pdf', pdfOf(['old']));
    await files.call('read_file', { path: 'a.pdf' });
    await writeFile(path, pdfOf(['newer']));
    expect((await files.call('read_file', { path: 'a.pdf' })).output).toContain('newer');
  });

  test('of Word is read as text', async () => {
    await using files = await fileTools();
    await files.put('a.docx', docxOf(paragraph('Title', '<w:pStyle w:val="Heading1"/>') + paragraph('Words')));
    expect(await files.call('read_file', { path: 'a.docx' })).toMatchObject({
      output: '1\t# Title\n2\tWords',
      metadata: { document: 'docx' },
    });
  });

  test('of Excel and PowerPoint is read as text, also with a document of another kind in it', async () => {
    await using files = await fileTools();
    const rows = '<row r="1"><c r="A1"><v>42</v></c></row>';
    await files.put('a', workbook([{ attributes: 'name="Costs"', rows }]));
    await files.put('b', presentation([{ shapes: shape('title', 'Plan') }]));
    const inner = { 'xl/embeddings/a.docx': docxOf(paragraph('inner')) };
    const outer = unzipSync(workbook([{ attributes: 'name="Costs"', rows }]));
    await files.put('c', zipSync({ ...inner, ...outer }, { level: 0 }));
    expect(await files.call('read_file', { path: 'a' })).toMatchObject({
      output: '1\t## Sheet 1 of 1: Costs\n2\t| | A |\n3\t| 1 | 42 |',
      metadata: { document: 'xlsx' },
    });
    expect(await files.call('read_file', { path: 'b' })).toMatchObject({
      output: '1\t[slide 1 of 1]\n2\t# Plan',
      metadata: { document: 'pptx' },
    });
    expect((await files.call('read_file', { path: 'c' })).metadata).toMatchObject({ document: 'xlsx' });
  });

  test('comes in pages that make it up', async () => {
    await using files = await fileTools({ pageChars: 600 });
    const words = Array.from({ length: 100 }, (_, n) => `line ${n}`);
    await files.put('a.docx', docxOf(words.map((word) => paragraph(word)).join('')));
    const found: string[] = [];
    for (let offset: number | undefined = 1; offset !== undefined;) {
      const { output } = await files.call('read_file', { path: 'a.docx', offset });
      const [body = ''] = output.split('\n\n');
      found.push(...body.split('\n').map((line) => line.split('\t')[1] ?? ''));
      const next = /continue at offset (\d+)/u.exec(output)?.[1];
      offset = next === undefined ? undefined : Number(next);
    }
    expect(found).toEqual(words);
  });

  test.each([
    ['a broken PDF', Buffer.from('%PDF-1.4\nnothing'), 'This PDF could not be read'],
    [
      'a Word document that is cut off',
      docxOf(paragraph('x')).subarray(0, -30),
      'This Word document could not be read',
    ],
  ])('%s is a sentence', async (_name, bytes, sentence) => {
    await using files = await fileTools();
    await files.put('a', bytes);
    const answer = await files.call('read_file', { path: 'a' });
    expect(answer).toMatchObject({ isError: true, output: expect.stringContaining(sentence) });
    expect(answer.output).not.toContain('\n');
  });

  test('without text says so', async () => {
    await using files = await fileTools();
    await files.put('a.docx', docxOf('<w:p/>'));
    expect((await files.call('read_file', { path: 'a.docx' })).output).toBe(
      '(there is no text in this document; its pages may be pictures)',
    );
  });

  test('of another kind in an archive is binary', async () => {
    await using files = await fileTools();
    await files.put('a.zip', Buffer.from(docxOf('')).fill('x', 30, 50));
    await files.put('b.zip', Buffer.from('PK\u0003\u0004\0\0\0'));
    expect((await files.call('read_file', { path: 'b.zip' })).output).toContain('binary');
  });

  test('is left alone by a stop', async () => {
    await using files = await fileTools();
    await files.put('a.pdf', pdfOf(Array.from({ length: 300 }, (_, n) => `page ${n}`)));
    const stop = new AbortController();
    const reading = files.call('read_file', { path: 'a.pdf' }, { signal: stop.signal, progress: () => stop.abort() });
    expect((await reading).output).toContain('Cut off');
  });
});

describe('an image', () => {
  const images: readonly (readonly [string, Uint8Array])[] = [
    ['image/png', PNG],
    ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 1])],
    ['image/gif', Buffer.from('GIF89a\0\0', 'latin1')],
    ['image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1')],
  ];

  test.each(images)('%s is shown, by a copy that cannot change any more', async (mediaType, bytes) => {
    await using files = await fileTools();
    await files.put('picture.txt', bytes);
    const { media, ...answer } = await files.call('read_file', { path: 'picture.txt' });
    expect(answer).toMatchObject({ output: 'The image is shown.', metadata: { type: mediaType, size: bytes.length } });
    expect(media).toMatchObject([{ kind: 'image', mediaType, name: 'picture.txt', size: bytes.length }]);
    const path = media?.[0]?.path ?? '';
    expect(await readFile(path)).toEqual(Buffer.from(bytes));
    expect(path.startsWith(join(files.home, 'media'))).toBe(true);
  });

  test('that is too large is refused with a sentence', async () => {
    await using files = await fileTools();
    await files.put('a.png', Buffer.concat([PNG, Buffer.alloc(4_000_000)]));
    const { isError, output, media } = await files.call('read_file', { path: 'a.png' });
    expect([isError, media]).toEqual([true, undefined]);
    expect(output).toContain('models take images of at most 3700000 bytes');
  });
});

describe('a large text', () => {
  const line = 'some words that stand in a log\n';

  async function large(count: number): Promise<FileTools> {
    const files = await fileTools();
    await files.put('a.log', `${line.repeat(count)}the end`);
    return files;
  }

  test('is read like any other', async () => {
    await using files = await large(100_000);
    const answer = await files.call('read_file', { path: 'a.log', offset: 100_000 });
    expect(answer).toMatchObject({
      output: `100000\t${line.trim()}\n100001\tthe end`,
      metadata: { lines: 100_001, truncated: false },
      private: true,
    });
    expect((await files.call('read_file', { path: 'a.log', offset: 100_002 })).output).toContain('100001 lines');
  });

  test('in another encoding says which', async () => {
    await using files = await fileTools();
    await files.put('a.txt', Buffer.from('gr\xfcn\n'.repeat(300_000), 'latin1'));
    const { output, metadata } = await files.call('read_file', { path: 'a.txt', limit: 1 });
    expect([output.split('\n')[0], metadata['encoding']]).toEqual(['1\tgrün', 'windows-1252']);
  });

  test('that is binary is named as such', async () => {
    await using files = await fileTools();
    await files.put('a.bin', Buffer.alloc(2_000_000, 'a\0'));
    expect((await files.call('read_file', { path: 'a.bin' })).output).toContain('binary');
  });

  test('does not hold others up', async () => {
    await using files = await large(1_500_000);
    // The first call loads what reads, which is no part of reading.
    await files.call('read_file', { path: 'a.log', limit: 1 });
    const blocked = await longestBlock(() => files.call('read_file', { path: 'a.log', offset: 1_000_000 }));
    expect(blocked).toBeLessThan(50);
  });
});

test('a file of a gigabyte is refused before it is read', async () => {
  await using files = await fileTools();
  const handle = await open(join(files.workspace, 'huge.log'), 'w');
  await handle.truncate(1024 ** 3);
  await handle.close();
  const start = performance.now();
  for (const [name, args] of [
    ['read_file', {}],
    ['edit_file', { oldText: 'a', newText: 'b' }],
  ] as const) {
    const answer = await files.call(name, { path: 'huge.log', ...args });
    expect(answer).toMatchObject({ isError: true, output: expect.stringContaining('files over 50 MB are not read') });
  }
  expect(performance.now() - start).toBeLessThan(2_000);
});
