/** What an answer of a server is, as far as it can be shown. */
export interface ContentKind {
  /** `text` is shown as it is: JSON, XML, CSV, source code. */
  readonly kind: 'html' | 'text' | 'pdf' | 'binary';
  /** Without parameters, lower case; guessed from the bytes where the server does not say. */
  readonly mediaType: string;
  /** As the server says it; null when it does not. */
  readonly charset: string | null;
}

const HTML = new Set(['text/html', 'application/xhtml+xml']);
const TEXT =
  /^text\/|[/+](?:json|xml|yaml|toml)$|^application\/(?:(?:x-)?(?:ndjson|jsonl|json5|javascript|ecmascript|typescript|sh|httpd-php|sql|yaml|toml|tex|latex|subrip|www-form-urlencoded)|rtf|graphql|mbox|pgp-signature)$/u;
/** What servers say when they do not know. */
const UNKNOWN = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/x-download', '*/*']);
const SNIFFED = 1_024;

/** Trusts what the server says, except where it says nothing or the bytes are plainly a PDF. */
export function contentKind(contentType: string | undefined, bytes: Uint8Array): ContentKind {
  const [given = '', ...parameters] = (contentType ?? '').split(';');
  const mediaType = given.trim().toLowerCase();
  const charset = charsetOf(parameters);
  const start = Buffer.from(bytes.subarray(0, SNIFFED)).toString('latin1');
  if (mediaType === 'application/pdf' || start.startsWith('%PDF-')) {
    return { kind: 'pdf', mediaType: 'application/pdf', charset };
  }
  if (HTML.has(mediaType)) return { kind: 'html', mediaType, charset };
  if (TEXT.test(mediaType)) return { kind: 'text', mediaType, charset };
  if (!UNKNOWN.has(mediaType)) return { kind: 'binary', mediaType, charset };
  if (looksBinary(bytes)) return { kind: 'binary', mediaType: 'application/octet-stream', charset };
  return /^[\s\u00ef\u00bb\u00bf]{0,16}<(?:!doctype\s+html|html|head|body)[\s>]/iu.test(start)
    ? { kind: 'html', mediaType: 'text/html', charset }
    : { kind: 'text', mediaType: 'text/plain', charset };
}

function charsetOf(parameters: readonly string[]): string | null {
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=', 2);
    const label = value.trim().replace(/^["']|["']$/gu, '');
    if (name.trim().toLowerCase() === 'charset' && label !== '') return label;
  }
  return null;
}

function looksBinary(bytes: Uint8Array): boolean {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  return !isUtf16 && bytes.subarray(0, SNIFFED).includes(0);
}
