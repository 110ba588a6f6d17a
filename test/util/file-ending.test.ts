import { describe, expect, test } from 'vitest';
import { fileEnding } from '../../src/core/util/file-ending.ts';

const TEXT = Buffer.from('some words\n');
const NOTHING_KNOWN = 'application/octet-stream';

describe('the ending of a file whose name has none', () => {
  test.each([
    ['text/plain', 'txt'],
    ['text/plain; charset=utf-8', 'txt'],
    ['TEXT/Markdown', 'md'],
    ['text/csv', 'csv'],
    ['text/tab-separated-values', 'tsv'],
    ['application/json', 'json'],
    ['application/ld+json', 'json'],
    ['application/x-ndjson', 'jsonl'],
    ['application/xml', 'xml'],
    ['application/rss+xml', 'xml'],
    ['application/x-yaml', 'yaml'],
    ['text/html', 'html'],
    ['text/x-log', 'log'],
    ['text/x-python', 'py'],
    ['application/javascript', 'js'],
    ['text/x-something-new', 'txt'],
    ['image/jpeg', 'jpg'],
    ['image/webp', 'webp'],
    ['audio/ogg', 'ogg'],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ])('says what the type %s is: %s', (mediaType, ending) => {
    expect(fileEnding(mediaType, TEXT)).toBe(ending);
  });

  test.each([
    ['words', TEXT, 'txt'],
    ['words in UTF-16', Buffer.from('\ufeffwords', 'utf16le'), 'txt'],
    ['words in Latin-1', Buffer.from('gr\xfcn', 'latin1'), 'txt'],
    ['JSON', Buffer.from('{"a": 1}'), 'txt'],
    ['a PDF', Buffer.from('%PDF-1.7\n'), 'pdf'],
    ['a picture', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'png'],
    ['an archive', Buffer.from('PK\u0003\u0004....'), 'zip'],
    ['a program', Buffer.from('\x7fELF\0\0\0', 'latin1'), 'bin'],
    ['nothing', Buffer.alloc(0), 'bin'],
  ])('is told by what is in it where the type says nothing: %s', (_what, bytes, ending) => {
    expect(fileEnding(NOTHING_KNOWN, bytes)).toBe(ending);
    expect(fileEnding('', bytes)).toBe(ending);
  });

  test('holds nothing that a stranger wrote', () => {
    expect(fileEnding('text/../../x', TEXT)).toBe('txt');
    expect(fileEnding('image/../../x', TEXT)).toBe('txt');
    expect(fileEnding('constructor', TEXT)).toBe('txt');
  });
});
