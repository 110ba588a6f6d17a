import type { Token } from 'markdown-it';
import { Fragment, h, type ComponentChild, type VNode } from 'preact';
import { memo } from 'preact/compat';
import { useMemo, useRef } from 'preact/hooks';
import { Code } from '../parts/code.tsx';
import { growBlocks, NO_BLOCKS } from './blocks.ts';
import { parser } from './parser.ts';
import { safeLink, shown } from './shown.ts';

/** A finished text. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }): VNode {
  const nodes = useMemo(() => render(parser.parse(text, {})), [text]);
  return <div class="prose">{nodes}</div>;
});

/** A text that grows: of what is there only the last block is read and drawn again. */
export function GrowingMarkdown({ text }: { readonly text: string }): VNode {
  const before = useRef(NO_BLOCKS);
  const blocks = growBlocks(before.current, text);
  before.current = blocks;
  return (
    <div class="prose">
      {blocks.sources.map((source, at) => (
        <Block key={at} source={source} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ source }: { readonly source: string }): VNode {
  return <>{render(parser.parse(source, {}))}</>;
});

/** The elements that tokens of blocks and of text become; any other token is left out and its content stays. */
const ELEMENTS: Readonly<Record<string, string>> = {
  paragraph: 'p',
  blockquote: 'blockquote',
  bullet_list: 'ul',
  ordered_list: 'ol',
  list_item: 'li',
  thead: 'thead',
  tbody: 'tbody',
  tr: 'tr',
  th: 'th',
  td: 'td',
  strong: 'strong',
  em: 'em',
  s: 's',
};

/** Draws tokens as elements, never as HTML. */
function render(tokens: readonly Token[]): ComponentChild[] {
  const stack: { token: Token | null; children: ComponentChild[] }[] = [{ token: null, children: [] }];
  for (const token of tokens) {
    if (token.nesting === 1) {
      stack.push({ token, children: [] });
      continue;
    }
    const top = stack.at(-1);
    if (token.nesting === -1 && top !== undefined && top.token !== null) {
      stack.pop();
      stack.at(-1)?.children.push(element(top.token, top.children));
    } else if (top !== undefined) top.children.push(leaf(token));
  }
  return stack[0]?.children ?? [];
}

function element(token: Token, children: ComponentChild[]): ComponentChild {
  const name = token.type.replace(/_open$/u, '');
  if (name === 'heading') return h(heading(token.tag), { dir: 'auto' }, children);
  if (name === 'link') return <Link href={String(token.attrGet('href') ?? '')}>{children}</Link>;
  if (name === 'table') {
    return (
      <div class="wide" tabIndex={0} role="region" aria-label="Table">
        <table>{children}</table>
      </div>
    );
  }
  const tag = ELEMENTS[name];
  if (tag === undefined || token.hidden) return <Fragment>{children}</Fragment>;
  const start = name === 'ordered_list' ? Number(token.attrGet('start') ?? 1) : undefined;
  const [, side] = /text-align:(right|center)/u.exec(String(token.attrGet('style') ?? '')) ?? [];
  const isText = ['p', 'li', 'blockquote', 'th', 'td'].includes(tag);
  const aligned = side === undefined ? {} : { class: side };
  return h(
    tag,
    { ...aligned, ...(start === undefined ? {} : { start }), ...(isText ? { dir: 'auto' } : {}) },
    children,
  );
}

/** Headings of a message stand below those of the page. */
function heading(tag: string): string {
  return `h${Math.min(6, Number(tag.slice(1)) + 2)}`;
}

function leaf(token: Token): ComponentChild {
  switch (token.type) {
    case 'inline':
      return <Fragment>{render(token.children ?? [])}</Fragment>;
    case 'softbreak':
    case 'hardbreak':
      return <br />;
    case 'hr':
      return <hr />;
    case 'code_inline':
      return <code>{shown(token.content)}</code>;
    case 'fence':
    case 'code_block':
      return <Code text={token.content} language={token.info.trim().split(/\s/u)[0] ?? ''} />;
    case 'image':
      return (
        <Link
          href={String(token.attrGet('src') ?? '')}
        >{`Image: ${shown(token.content) || 'without a description'}`}</Link>
      );
    default:
      return shown(token.content);
  }
}

function Link({ href, children }: { readonly href: string; readonly children: ComponentChild }): VNode {
  const address = safeLink(href);
  if (address === undefined) return <>{children}</>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" title={shown(address)}>
      {children}
    </a>
  );
}
