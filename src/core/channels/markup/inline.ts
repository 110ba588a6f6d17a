import type { Token } from 'markdown-it';
import { attribute, tokenText } from './parser.ts';
import type { Span } from './spans.ts';

/** Whether a platform can show this text as a link to this address. Where it cannot, the address is shown as text. */
export type LinkRule = (href: string, label: string) => boolean;

type Style = Omit<Span, 'text'>;

interface OpenLink {
  readonly href: string;
  readonly automatic: boolean;
  /** How many spans there were before it. */
  readonly began: number;
}

/** The spans of a paragraph or heading. */
export function inlineSpans(tokens: readonly Token[], canLink: LinkRule): readonly Span[] {
  const spans: Span[] = [];
  const depth = { strong: 0, em: 0, s: 0 };
  let link: OpenLink | undefined;
  // Addresses in angle brackets may stand in the label of a link; they are text there.
  let links = 0;
  const write = (text: string, style: Style): void => {
    if (text !== '') spans.push({ text, ...style });
  };
  for (const token of tokens) {
    const style: Style = {
      ...(depth.strong > 0 ? { bold: true } : {}),
      ...(depth.em > 0 ? { italic: true } : {}),
      ...(depth.s > 0 ? { strike: true } : {}),
      ...(link === undefined ? {} : { link: link.href }),
    };
    switch (token.type) {
      case 'strong_open':
      case 'strong_close':
        depth.strong += token.nesting;
        break;
      case 'em_open':
      case 'em_close':
        depth.em += token.nesting;
        break;
      case 's_open':
      case 's_close':
        depth.s += token.nesting;
        break;
      case 'link_open':
        links += 1;
        link ??= { href: attribute(token, 'href'), automatic: token.markup === 'autolink', began: spans.length };
        break;
      case 'link_close':
        links -= 1;
        if (links > 0 || link === undefined) break;
        spans.push(...settleLink(spans.splice(link.began), link, style, canLink));
        link = undefined;
        break;
      case 'image':
        if (link === undefined) spans.push(...image(token, style, canLink));
        else write(tokenText(token.children ?? []).trim() || attribute(token, 'src'), style);
        break;
      case 'softbreak':
      case 'hardbreak':
        write('\n', style);
        break;
      case 'code_inline':
        write(token.content, { ...style, code: true });
        break;
      default:
        write(token.content, style);
    }
  }
  return spans;
}

/** A link as the platform can show it: as a link, or as its label with the address behind it. */
function settleLink(label: readonly Span[], link: OpenLink, style: Style, canLink: LinkRule): readonly Span[] {
  const { href } = link;
  const { link: _, ...unlinked } = style;
  const text = label.map((span) => span.text).join('');
  if (href === '') return label.map((span) => withoutLink(span));
  if (text.trim() === '') {
    return [...label.map((span) => withoutLink(span)), { text: href, ...(canLink(href, href) ? style : unlinked) }];
  }
  if (canLink(href, text)) return label;
  const plain = label.map((span) => withoutLink(span));
  const address = href.replace(/^mailto:/iu, '');
  return link.automatic || text === href || text === address
    ? plain
    : [...plain, { text: ` (${address})`, ...unlinked }];
}

/** Pictures are not fetched by anybody: what they show, leading to where they are. */
function image(token: Token, style: Style, canLink: LinkRule): readonly Span[] {
  const source = attribute(token, 'src');
  const label = tokenText(token.children ?? []).trim();
  const inData = /^data:/iu.test(source);
  if (source === '' || inData) return label === '' ? [] : [{ text: label, ...style }];
  const link = { href: source, automatic: label === '', began: 0 };
  return settleLink([{ text: label || source, ...style, link: source }], link, { ...style, link: source }, canLink);
}

function withoutLink(span: Span): Span {
  const { link: _, ...unlinked } = span;
  return unlinked;
}
