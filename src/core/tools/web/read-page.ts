import { withoutInvisible } from '../../security/text/invisible.ts';
import { pdfText } from '../documents/pdf-text.ts';
import { decodeBytes } from './charset.ts';
import { plainMarkdown } from './html-plain.ts';
import { readHtml, VOID_ELEMENTS } from './html-tokens.ts';
import type { PageTask, PageText } from './page-task.ts';

const MOST_HTML_BYTES = 2_000_000;
const MOST_CHARS = 3_000_000;
/** What a parser is given; beyond it its time grows faster than the page. */
const MOST_ELEMENTS = 20_000;
/** Also of entities and of stray brackets: each is a piece of its own. */
const MOST_PIECES = 60_000;
const LONGEST_TAG = 50_000;
const DEEPEST = 256;

/** Everything that is done with the bytes of an answer; runs in a child process that can be ended at any moment. */
export async function readPage(
  bytes: Uint8Array,
  { kind, charset, url, simple, budgetMs }: PageTask,
): Promise<PageText> {
  if (kind === 'pdf') {
    const pdf = await pdfText(bytes, { budgetMs, mostChars: MOST_CHARS });
    return tidied({ ...pdf, published: null, hidden: 0, simple: false });
  }
  if (kind === 'text') {
    const text = decodeBytes(bytes, charset);
    return visible({ title: null, text, published: null, hidden: 0, simple: false, cut: false });
  }
  const cut = bytes.length > MOST_HTML_BYTES;
  const html = decodeBytes(cut ? bytes.subarray(0, MOST_HTML_BYTES) : bytes, charset);
  const page = simple || isHeavy(html) ? plain(html, url) : await article(html, url);
  return tidied({ ...page, cut: cut || page.cut });
}

/** The parsers are loaded for the first page that is theirs. */
async function article(html: string, url: string): Promise<PageText> {
  const { articleMarkdown } = await import('./html-markdown.ts');
  try {
    return articleMarkdown(html, url);
  } catch {
    // If the parser fails, the plain text of the page can still be read.
    return plain(html, url);
  }
}

function plain(html: string, url: string): PageText {
  return plainMarkdown(html, { url, mostChars: MOST_CHARS });
}

function isHeavy(html: string): boolean {
  if (hasMore(html, '<', MOST_PIECES) || hasMore(html, '&', MOST_PIECES)) return true;
  let elements = 0;
  let depth = 0;
  let isLongTag = false;
  const isOver = (): boolean => isLongTag || elements > MOST_ELEMENTS || depth > DEEPEST;
  readHtml(html, {
    open: (name, attributes) => {
      elements += 1;
      isLongTag = lengthOf(attributes) > LONGEST_TAG;
      if (!VOID_ELEMENTS.has(name)) depth += 1;
      return !isOver();
    },
    close: () => {
      depth -= 1;
    },
  });
  return isOver();
}

function lengthOf(attributes: ReadonlyMap<string, string>): number {
  let length = 0;
  for (const [name, value] of attributes) length += name.length + value.length;
  return length;
}

function hasMore(text: string, mark: string, limit: number): boolean {
  let count = 0;
  for (let at = text.indexOf(mark); at !== -1 && count <= limit; at = text.indexOf(mark, at + 1)) count += 1;
  return count > limit;
}

/** No invisible characters, no space at the ends of lines, at most one empty line. */
function tidied(page: PageText): PageText {
  const shown = visible(page);
  const lines = shown.text.split('\n').map((line) => line.trimEnd());
  const text = lines
    .filter((line, at) => line !== '' || lines[at - 1] !== '')
    .join('\n')
    .trim();
  return { ...shown, text };
}

/** A page of invisible characters would be pages of nothing. */
function visible(page: PageText): PageText {
  const plainText = (text: string): string => withoutInvisible(text).text;
  return {
    ...page,
    title: page.title === null ? null : plainText(page.title),
    published: page.published === null ? null : plainText(page.published),
    text: plainText(page.text),
  };
}
