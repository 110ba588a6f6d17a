const HIDING =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:!|;|$)|content-visibility\s*:\s*hidden)/iu;

/** Longest address that a page's text carries; a page could be made of nothing else. */
const LONGEST = 2_000;
const SHOWN = new Set(['http:', 'https:', 'mailto:', 'tel:']);

/** What relative addresses of a page start from: its own, or what its `base` says where that is of the web. */
export function baseOf(page: string, href: string | null | undefined): string {
  if (href === null || href === undefined || !URL.canParse(href.trim(), page)) return page;
  const base = new URL(href.trim(), page);
  return /^https?:$/u.test(base.protocol) && base.href.length <= LONGEST ? base.href : page;
}

/** Where a link leads, in full; undefined for one that runs or holds something, or leads to its own page. */
export function linkTarget(href: string | null | undefined, base: string): string | undefined {
  const written = href?.trim() ?? '';
  if (written === '' || written.startsWith('#') || written.length > LONGEST || !URL.canParse(written, base)) {
    return undefined;
  }
  const url = new URL(written, base);
  if (!SHOWN.has(url.protocol) || url.href.length > LONGEST) return undefined;
  // Marks that end a Markdown link.
  return url.href.replaceAll('(', '%28').replaceAll(')', '%29');
}

/** A link as Markdown, on one line; its text alone where it leads nowhere. */
export function markdownLink(text: string, href: string | null | undefined, base: string): string {
  const target = linkTarget(href, base);
  const label = text.replace(/\s+/gu, ' ').trim();
  if (target === undefined || label === '') return text;
  return `[${label}](${target})`;
}

/** An image as Markdown, if it says what it shows. */
export function markdownImage(alt: string | null | undefined, src: string | null | undefined, base: string): string {
  const label = alt?.replace(/\s+/gu, ' ').trim() ?? '';
  if (label === '') return '';
  const target = linkTarget(src, base);
  return target === undefined || !target.startsWith('http') ? `[image: ${label}]` : `![${label}](${target})`;
}

/**
 * Whether an element says of itself that people do not see it, or that it is not for those who are read to. What a
 * style sheet hides is not known; almost transparent is how many pages begin before their scripts run, so it counts as
 * seen.
 */
export function isHidden(attribute: (name: string) => string | null | undefined): boolean {
  const hidden = attribute('hidden');
  if (hidden !== null && hidden !== undefined) return true;
  if (attribute('aria-hidden')?.trim().toLowerCase() === 'true') return true;
  const style = attribute('style');
  return style !== null && style !== undefined && HIDING.test(style);
}
