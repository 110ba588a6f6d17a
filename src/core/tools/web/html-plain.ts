import { isHidden, baseOf, linkTarget, markdownImage } from './links.ts';
import { readHtml, VOID_ELEMENTS } from './html-tokens.ts';
import type { PageText } from './page-task.ts';
import { cut } from '../../util/text.ts';

/** Never read: programs, drawings, controls. */
const SKIPPED = new Set(
  'script style noscript template iframe svg canvas object noembed noframes select button textarea datalist'.split(' '),
);
const BLOCKS = new Set(
  'address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main nav ol p pre section summary table tbody tfoot thead tr ul'.split(
    ' ',
  ),
);
/** A second one of these ends the first. */
const SELF_ENDING = new Set('a p li dt dd tr td th option'.split(' '));
const HEADING = /^h(?<level>[1-6])$/u;
/** Pieces of text in a link; with more it is an area rather than a link. */
const LONGEST_LINK = 64;
/** How far up a closing tag looks for what it closes; deeper it counts as lost. */
const LOOKS_UP = 64;

/**
 * A page as rough Markdown without building a tree: time and memory grow with its length alone, however it is nested.
 * Headings, paragraphs, lists, cells, links and image texts are kept; nothing is left out as unimportant.
 */
export function plainMarkdown(html: string, { url, mostChars }: { url: string; mostChars: number }): PageText {
  const page = new PlainPage(url);
  const isShort = (): boolean => page.length <= mostChars;
  readHtml(html, {
    text: (text) => {
      page.text(text);
      return isShort();
    },
    open: (name, attributes) => {
      page.open(name, attributes);
      return isShort();
    },
    close: (name) => {
      page.close(name);
      return isShort();
    },
  });
  return page.end(mostChars);
}

interface Open {
  readonly name: string;
  readonly href?: string;
  /** Where its text begins. */
  readonly from: number;
}

class PlainPage {
  #base: string;
  #hasBase = false;
  #title = '';
  #inTitle = false;
  #hidden = 0;
  readonly #stack: Open[] = [];
  /** Depth at which what is not shown began; 0: everything is shown. */
  #skipFrom = 0;
  #preFrom = 0;
  readonly #out: string[] = [];
  /** Characters written. */
  length = 0;
  /** A space or line breaks that come before the next word, if there is one. */
  #gap = '';
  /** The mark of a heading, an item or a cell was written, and nothing after it. */
  #marked = false;

  constructor(url: string) {
    this.#base = url;
  }

  text(text: string): void {
    if (this.#inTitle) this.#title += text;
    if (this.#inTitle || this.#skipFrom > 0) return;
    if (this.#preFrom > 0) {
      this.#write(text);
      return;
    }
    const words = text.replace(/\s+/gu, ' ');
    if (words.startsWith(' ')) this.#space();
    const trimmed = words.trim();
    if (trimmed !== '') this.#write(trimmed);
    if (trimmed !== '' && words.endsWith(' ')) this.#space();
  }

  open(name: string, attributes: ReadonlyMap<string, string>): void {
    if (SELF_ENDING.has(name) && this.#stack.at(-1)?.name === name) this.close(name);
    const attribute = (key: string): string | undefined => (this.#skipFrom > 0 ? undefined : attributes.get(key));
    if (name === 'base' && !this.#hasBase && attribute('href') !== undefined) {
      this.#hasBase = true;
      this.#base = baseOf(this.#base, attribute('href'));
    }
    if (VOID_ELEMENTS.has(name)) {
      if (this.#skipFrom === 0 && !isHidden(attribute)) this.#void(name, attribute);
      return;
    }
    const href = name === 'a' && this.#skipFrom === 0 ? linkTarget(attribute('href'), this.#base) : undefined;
    this.#stack.push({ name, from: this.#out.length, ...(href === undefined ? {} : { href }) });
    if (name === 'title' && this.#title === '') this.#inTitle = true;
    if (this.#skipFrom > 0) return;
    const hidden = isHidden(attribute);
    if (hidden || SKIPPED.has(name)) {
      if (hidden) this.#hidden += 1;
      this.#skipFrom = this.#stack.length;
      return;
    }
    this.#begin(name);
  }

  close(name: string): void {
    const lowest = Math.max(0, this.#stack.length - LOOKS_UP);
    let at = this.#stack.length - 1;
    while (at >= lowest && this.#stack[at]?.name !== name) at -= 1;
    if (at < lowest) return;
    while (this.#stack.length > at) this.#closeLast();
  }

  end(mostChars: number): PageText {
    while (this.#stack.length > 0) this.#closeLast();
    const text = this.#out.join('');
    const title = this.#title.replace(/\s+/gu, ' ').trim();
    return {
      title: title === '' ? null : title,
      text: cut(text, mostChars),
      published: null,
      hidden: this.#hidden,
      simple: true,
      cut: text.length > mostChars,
    };
  }

  #void(name: string, attribute: (key: string) => string | undefined): void {
    if (name === 'br') this.#break('\n');
    else if (name === 'hr') this.#break('\n\n');
    else if (name === 'img') {
      const image = markdownImage(attribute('alt'), attribute('src'), this.#base);
      if (image !== '') this.#write(image);
    }
  }

  #begin(name: string): void {
    const level = HEADING.exec(name)?.groups?.['level'];
    if (level !== undefined) {
      this.#break('\n\n');
      this.#mark(`${'#'.repeat(Number(level))} `);
    } else if (name === 'li') {
      this.#break('\n');
      this.#mark('- ');
    } else if (name === 'td' || name === 'th') this.#mark('| ');
    else if (name === 'tr' || name === 'dt' || name === 'dd') this.#break('\n');
    else if (name === 'pre') {
      this.#break('\n\n');
      this.#mark('```\n');
      this.#preFrom ||= this.#stack.length;
    } else if (BLOCKS.has(name) && !this.#marked) this.#break('\n\n');
  }

  #closeLast(): void {
    const depth = this.#stack.length;
    const open = this.#stack.pop();
    if (open === undefined) return;
    if (open.name === 'title') this.#inTitle = false;
    if (this.#skipFrom > 0) {
      if (depth === this.#skipFrom) this.#skipFrom = 0;
      return;
    }
    if (depth === this.#preFrom) {
      this.#preFrom = 0;
      this.#write('\n```');
    }
    if (open.href !== undefined) this.#link(open.href, open.from);
    else if (open.name === 'td' || open.name === 'th') this.#space();
    else if (BLOCKS.has(open.name)) this.#break(open.name === 'li' || open.name === 'tr' ? '\n' : '\n\n');
  }

  /** What was written since `from` becomes the text of a link. */
  #link(href: string, from: number): void {
    if (this.#out.length - from > LONGEST_LINK) return;
    const written = this.#out.slice(from).join('');
    const text = written.replace(/\s+/gu, ' ').trim();
    if (text === '' || text.includes('](')) return;
    const lead = written.slice(0, written.length - written.trimStart().length);
    this.#out.splice(from, this.#out.length - from, `${lead}[${text}](${href})`);
    this.length += href.length + 4;
  }

  #space(): void {
    if (this.#gap === '' && this.length > 0 && !this.#marked) this.#gap = ' ';
  }

  #break(lines: '\n' | '\n\n'): void {
    if (this.length > 0 && this.#gap !== '\n\n') this.#gap = lines;
  }

  #mark(text: string): void {
    this.#write(text);
    this.#marked = true;
  }

  #write(text: string): void {
    this.#out.push(this.#gap, text);
    this.length += this.#gap.length + text.length;
    this.#gap = '';
    this.#marked = false;
  }
}
