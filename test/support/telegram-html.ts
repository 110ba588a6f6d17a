/** What a Bot API server makes of a text: what people see, or why it refuses it. */
export type ParsedHtml = { readonly visible: string } | { readonly problem: string };

const PLAIN_TAGS = new Set(['b', 'strong', 'i', 'em', 'u', 'ins', 's', 'strike', 'del', 'pre', 'tg-spoiler']);
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };
const TAG = /^<(\/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[a-zA-Z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'))?)*)\s*>/u;
const ATTRIBUTE = /([a-zA-Z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?/gu;

/**
 * Parses Telegram's HTML as its documentation describes it: the listed tags, properly nested, `<`, `>` and `&` always
 * escaped. The real server forgives a bare `>` and an unknown entity; people would then see them, so here they are errors.
 */
export function parseTelegramHtml(html: string): ParsedHtml {
  const open: string[] = [];
  let visible = '';
  for (let at = 0; at < html.length;) {
    const rest = html.slice(at);
    const problem = (what: string): ParsedHtml => ({ problem: `${what} at byte offset ${byteOffset(html, at)}` });
    if (rest.startsWith('<')) {
      const [whole, slash, rawName, attributes] = TAG.exec(rest) ?? [];
      if (whole === undefined || rawName === undefined) return problem('Unclosed or malformed start tag');
      const name = rawName.toLowerCase();
      const failure = slash === '/' ? closeTag(name, open) : openTag(name, attributes ?? '', open);
      if (failure !== undefined) return problem(failure);
      at += whole.length;
    } else if (rest.startsWith('&')) {
      const [whole, body] = /^&(#\d+|#x[0-9a-fA-F]+|[a-zA-Z]+);/u.exec(rest) ?? [];
      const text = body === undefined ? undefined : entityText(body);
      if (whole === undefined || text === undefined) return problem('Unescaped "&" or unsupported entity');
      visible += text;
      at += whole.length;
    } else if (rest.startsWith('>')) {
      return problem('Unescaped ">"');
    } else {
      const next = rest.search(/[<>&]/u);
      const text = next === -1 ? rest : rest.slice(0, next);
      visible += text;
      at += text.length;
    }
  }
  const last = open.at(-1);
  return last === undefined ? { visible } : { problem: `Can't find end tag corresponding to start tag "${last}"` };
}

function openTag(name: string, text: string, open: string[]): string | undefined {
  const attributes = new Map<string, string>();
  for (const [, key = '', double, single] of text.matchAll(ATTRIBUTE)) attributes.set(key, double ?? single ?? '');
  const failure = tagFailure(name, attributes) ?? nestingFailure(name, open);
  if (failure === undefined) open.push(name);
  return failure;
}

function tagFailure(name: string, attributes: ReadonlyMap<string, string>): string | undefined {
  const only = (...allowed: readonly string[]): boolean => [...attributes.keys()].every((key) => allowed.includes(key));
  if (PLAIN_TAGS.has(name)) return only() ? undefined : `Unexpected attribute in start tag "${name}"`;
  switch (name) {
    case 'a':
      return only('href') && (attributes.get('href') ?? '') !== ''
        ? undefined
        : 'Tag "a" must have an href and no more';
    case 'code':
      return only('class') && (attributes.get('class') ?? 'language-').startsWith('language-')
        ? undefined
        : 'Tag "code" may only have a class "language-…"';
    case 'blockquote':
      return only('expandable') ? undefined : 'Tag "blockquote" may only be expandable';
    case 'span':
      return only('class') && attributes.get('class') === 'tg-spoiler'
        ? undefined
        : 'Tag "span" must have class "tg-spoiler"';
    default:
      return `Unsupported start tag "${name}"`;
  }
}

/**
 * `code` and `pre` hold nothing (but `pre` a `code`) and stand in nothing but a quote; nothing is nested in itself; a quote
 * stands in nothing.
 */
function nestingFailure(name: string, open: readonly string[]): string | undefined {
  if (open.includes('code')) return `Tag "${name}" inside "code"`;
  if (open.includes('pre') && !(name === 'code' && open.at(-1) === 'pre')) return `Tag "${name}" inside "pre"`;
  if (open.includes(name)) return `Tag "${name}" inside itself`;
  if (name === 'blockquote' && open.length > 0) return `Tag "blockquote" inside "${open.at(-1)}"`;
  const around = open.find((tag) => tag !== 'blockquote' && !(name === 'code' && tag === 'pre'));
  if ((name === 'code' || name === 'pre') && around !== undefined) return `Tag "${name}" inside "${around}"`;
  return undefined;
}

function closeTag(name: string, open: string[]): string | undefined {
  const expected = open.at(-1);
  if (expected === undefined) return `Unexpected end tag "${name}"`;
  if (expected !== name) return `Unmatched end tag, expected "</${expected}>", found "</${name}>"`;
  open.pop();
  return undefined;
}

function entityText(body: string): string | undefined {
  if (!body.startsWith('#')) return Object.hasOwn(ENTITIES, body) ? ENTITIES[body] : undefined;
  const code = body.startsWith('#x') ? Number.parseInt(body.slice(2), 16) : Number.parseInt(body.slice(1), 10);
  const legal = code > 0 && code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff);
  return legal ? String.fromCodePoint(code) : undefined;
}

function byteOffset(text: string, at: number): number {
  return Buffer.byteLength(text.slice(0, at));
}
