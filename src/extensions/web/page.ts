import { pdfText, withoutInvisible } from '../../core/api-child.ts';
import { stripped } from './stripped.ts';

/** How the body of an HTTP response is to be turned into text. */
export interface PageTask {
  readonly kind: 'html' | 'text' | 'pdf';
  /** As the server says it; null when it does not. */
  readonly charset: string | null;
  /** Address of the page, against which relative links are resolved. */
  readonly url: string;
  /** True: no parser could read it within its limits, so only its tags are taken away. */
  readonly simple: boolean;
}

/** The text of a page. All of it is untrusted content. */
export interface PageText {
  readonly title: string | null;
  /** Markdown for HTML; plain text otherwise. */
  readonly text: string;
  /** Date of publication in the page's own words; null: it names none. */
  readonly published: string | null;
  /** Number of parts that were left out because people cannot see them. */
  readonly hidden: number;
  /** True: its tags were taken away, so menus and the like are still in it. */
  readonly simple: boolean;
  /** True: the page is longer than the text that was read. */
  readonly cut: boolean;
}

const MOST_HTML_BYTES = 2_000_000;
const MOST_CHARS = 3_000_000;
const PLAIN = { title: null, published: null, hidden: 0, simple: false, cut: false };

/** Everything that is done with the bytes of an answer; runs in a child process that can be ended at any moment. */
export async function readPage(
  bytes: Uint8Array,
  { kind, charset, url, simple }: PageTask,
  hasTime: () => boolean,
): Promise<PageText> {
  if (kind === 'pdf') {
    return tidied({ ...PLAIN, ...(await pdfText(bytes, { hasTime, mostChars: MOST_CHARS })) });
  }
  if (kind === 'text') return visible({ ...PLAIN, text: decodeBytes(bytes, charset) });
  const cut = bytes.length > MOST_HTML_BYTES;
  const html = decodeBytes(cut ? bytes.subarray(0, MOST_HTML_BYTES) : bytes, charset);
  const page = simple ? stripped(html) : await article(html, url);
  return tidied({ ...page, cut });
}

/** The parsers are loaded for the first page that is theirs. */
async function article(html: string, url: string): Promise<PageText> {
  const { articleMarkdown } = await import('./article.ts');
  try {
    return articleMarkdown(html, url);
  } catch {
    // Too deep for it, for example.
    return stripped(html);
  }
}

/** No invisible characters, no space at the ends of lines, at most one empty line. */
function tidied(page: PageText): PageText {
  const shown = visible(page);
  const lines = shown.text.split('\n').map((line) => line.trimEnd());
  const text = lines.filter((line, at) => line !== '' || lines[at - 1] !== '').join('\n');
  return { ...shown, text: text.trim() };
}

/** A page of invisible characters would be pages of nothing. */
function visible(page: PageText): PageText {
  const seen = <Text extends string | null>(text: Text) => (text === null ? text : withoutInvisible(text).text);
  return { ...page, title: seen(page.title), published: seen(page.published), text: withoutInvisible(page.text).text };
}

/** What an answer of a server is, as far as it can be shown. */
export interface ContentKind {
  /** `text` is shown as it is: JSON, XML, CSV, source code. */
  readonly kind: PageTask['kind'] | 'binary';
  /** Without parameters, lower case; guessed from the bytes where the server does not say. */
  readonly mediaType: string;
  readonly charset: string | null;
}

const HTML = new Set(['text/html', 'application/xhtml+xml']);
const TEXT =
  /^text\/|[/+](?:json|xml|yaml|toml)$|^application\/(?:(?:x-)?(?:ndjson|jsonl|json5|javascript|ecmascript|typescript|sh|httpd-php|sql|yaml|toml|tex|latex|subrip|www-form-urlencoded)|rtf|graphql|mbox|pgp-signature)$/u;
/** What servers say when they do not know. */
const UNKNOWN = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/x-download', '*/*']);
const SNIFFED = 1_024;

/** Trusts what the server says, except where it says nothing or the bytes are plainly a PDF. */
export function contentKind(contentType = '', bytes: Uint8Array): ContentKind {
  const mediaType = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  const charset = /;\s*charset\s*=\s*["']?(?<label>[^;"'=]+)/iu.exec(contentType)?.groups?.['label']?.trim() || null;
  const start = latin1(bytes.subarray(0, SNIFFED));
  if (mediaType === 'application/pdf' || start.startsWith('%PDF-')) {
    return { kind: 'pdf', mediaType: 'application/pdf', charset };
  }
  if (HTML.has(mediaType)) return { kind: 'html', mediaType, charset };
  if (TEXT.test(mediaType)) return { kind: 'text', mediaType, charset };
  if (!UNKNOWN.has(mediaType)) return { kind: 'binary', mediaType, charset };
  if (start.includes('\0') && !/^(?:\xff\xfe|\xfe\xff)/u.test(start)) {
    return { kind: 'binary', mediaType: 'application/octet-stream', charset };
  }
  return /^[\s\u00ef\u00bb\u00bf]{0,16}<(?:!doctype\s+html|html|head|body)[\s>]/iu.test(start)
    ? { kind: 'html', mediaType: 'text/html', charset }
    : { kind: 'text', mediaType: 'text/plain', charset };
}

const DECLARED_WITHIN = 2_048;
const DECLARED =
  /<meta[^>]{0,512}?charset\s*=\s*["']?\s*(?<meta>[\w.:-]{1,40})|^\s{0,16}<\?xml[^>]{0,200}?encoding\s*=\s*["'](?<xml>[\w.:-]{1,40})/iu;
const MARKS = { 'utf-8': '\xef\xbb\xbf', 'utf-16le': '\xff\xfe', 'utf-16be': '\xfe\xff' };

/**
 * The text of an answer. In this order: a byte-order mark, what the server says, what the document says of itself,
 * UTF-8, windows-1252. A charset that is unknown, or UTF-8 that is not, counts as not said. Never fails.
 */
function decodeBytes(bytes: Uint8Array, charset: string | null): string {
  const start = latin1(bytes.subarray(0, DECLARED_WITHIN));
  const marked = Object.entries(MARKS).find(([, mark]) => start.startsWith(mark))?.[0];
  if (marked !== undefined) return new TextDecoder(marked).decode(bytes);
  const { meta, xml } = DECLARED.exec(start)?.groups ?? {};
  // Who can read a declaration in ASCII is not looking at UTF-16.
  const declared = (meta ?? xml)?.replace(/^utf-?16.*/iu, 'utf-8');
  for (const label of [charset, declared, 'utf-8']) {
    try {
      if (label === null || label === undefined) continue;
      const decoder = new TextDecoder(label, { fatal: label.toLowerCase().startsWith('utf') });
      // What was cut off in the middle of a character is still that charset: its last bytes are left out.
      return decoder.decode(bytes, { stream: true });
    } catch {
      // The next one may fit.
    }
  }
  return new TextDecoder('windows-1252').decode(bytes);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}
