const SNIFF_BYTES = 8_192;
/** What text never holds, beside NUL: no tabs, line ends, page ends, backspaces and escapes. */
export const CONTROLS = /[\u0001-\u0007\u000b\u000e-\u001a\u001c-\u001f]/u;

/** By how a file begins, where it is no UTF-16: NUL bytes mean binary, other control characters in what is no UTF-8 too. */
export function looksBinary(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, SNIFF_BYTES));
  if (start.includes(0)) return true;
  if (!CONTROLS.test(start.toString('latin1'))) return false;
  try {
    // What is cut off in the middle of a character is still UTF-8.
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true });
    return false;
  } catch {
    return true;
  }
}

/** Types whose ending is not their subtype. */
const ENDINGS: Readonly<Record<string, string>> = {
  'application/ecmascript': 'js',
  'application/javascript': 'js',
  'application/json': 'json',
  'application/jsonl': 'jsonl',
  'application/msword': 'doc',
  'application/ogg': 'ogg',
  'application/pdf': 'pdf',
  'application/rtf': 'rtf',
  'application/sql': 'sql',
  'application/toml': 'toml',
  'application/typescript': 'ts',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/x-ndjson': 'jsonl',
  'application/x-yaml': 'yaml',
  'application/xml': 'xml',
  'application/yaml': 'yaml',
  'application/zip': 'zip',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/x-m4a': 'm4a',
  'audio/x-wav': 'wav',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'text/calendar': 'ics',
  'text/javascript': 'js',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'text/tab-separated-values': 'tsv',
  'text/vcard': 'vcf',
  'text/x-c': 'c',
  'text/x-go': 'go',
  'text/x-java': 'java',
  'text/x-log': 'log',
  'text/x-markdown': 'md',
  'text/x-python': 'py',
  'text/x-rust': 'rs',
  'text/x-typescript': 'ts',
  'text/x-yaml': 'yaml',
  'video/quicktime': 'mov',
};
/** Types whose subtype is an ending as people know it. */
const BY_SUBTYPE =
  /^(?:(?:audio|image|video)\/(?<media>[a-z0-9]{2,5})|text\/(?<text>css|csv|html|rtf|sql|toml|xml|yaml)|[^/]+\/[^/]+\+(?<suffix>json|xml|yaml|zip))$/u;
const SIGNATURES: readonly (readonly [string, string])[] = [
  ['%PDF-', 'pdf'],
  ['\x89PNG\r\n', 'png'],
  ['\xff\xd8\xff', 'jpg'],
  ['GIF8', 'gif'],
  ['PK\u0003\u0004', 'zip'],
  ['OggS', 'ogg'],
];

/**
 * How the name of a file ends whose name does not say it, without the dot: by its media type, else by what is in it.
 * Every text ends in a way that people and programs know as text, and `bin` is what is neither text nor known.
 */
export function fileEnding(mediaType: string, bytes: Uint8Array): string {
  const type = (mediaType.split(';')[0] ?? '').trim().toLowerCase();
  const { media, text, suffix } = BY_SUBTYPE.exec(type)?.groups ?? {};
  const ending = Object.hasOwn(ENDINGS, type) ? ENDINGS[type] : (media ?? text ?? suffix);
  if (ending !== undefined) return ending;
  if (type.startsWith('text/')) return 'txt';
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 16)).toString('latin1');
  const signed = SIGNATURES.find(([signature]) => start.startsWith(signature))?.[1];
  if (signed !== undefined) return signed;
  const isUtf16 = start.startsWith('\xff\xfe') || start.startsWith('\xfe\xff');
  return bytes.length > 0 && (isUtf16 || !looksBinary(bytes)) ? 'txt' : 'bin';
}
