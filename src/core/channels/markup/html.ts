import type { Span } from './spans.ts';

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };
const CHARACTERS = Object.fromEntries(Object.entries(ENTITIES).map(([character, entity]) => [entity, character]));

/** Telegram's HTML (https://core.telegram.org/bots/api#html-style) for spans; always well nested. */
export function toHtml(spans: readonly Span[]): string {
  let html = '';
  let open: readonly string[] = [];
  for (const span of spans) {
    const tags = tagsOf(span);
    html += between(open, tags) + escapeHtml(span.text);
    open = tags;
  }
  return html + between(open, []);
}

/** The text that such HTML shows. */
export function plainText(html: string): string {
  return html.replace(/<[^>]*>/gu, '').replace(/&(?:lt|gt|amp|quot);/gu, (entity) => CHARACTERS[entity] ?? entity);
}

export function escapeHtml(text: string): string {
  return text.replace(/[<>&"]/gu, (character) => ENTITIES[character] ?? character);
}

/** From the outside in, always in this order; code allows nothing inside or beside it but a quote around it. */
function tagsOf(span: Span): readonly string[] {
  const tags: string[] = [];
  if (span.quote === true) tags.push('blockquote');
  if (span.pre !== undefined) {
    tags.push('pre');
    if (/^[\w+#.-]{1,40}$/u.test(span.pre)) tags.push(`code class="language-${span.pre}"`);
    return tags;
  }
  if (span.link !== undefined) tags.push(`a href="${escapeHtml(span.link)}"`);
  else if (span.code === true) return [...tags, 'code'];
  if (span.bold === true || span.heading !== undefined) tags.push('b');
  if (span.italic === true) tags.push('i');
  if (span.strike === true) tags.push('s');
  return tags;
}

/** Closes what is not wanted any more and opens what is new. */
function between(open: readonly string[], wanted: readonly string[]): string {
  let same = 0;
  while (same < open.length && open[same] === wanted[same]) same += 1;
  const closing = open
    .slice(same)
    .reverse()
    .map((tag) => `</${tag.split(' ', 1)[0]}>`);
  const opening = wanted.slice(same).map((tag) => `<${tag}>`);
  return closing.join('') + opening.join('');
}
