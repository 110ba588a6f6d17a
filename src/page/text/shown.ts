/** Controls that show text in another order than it has: embeddings, overrides and isolates. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/gu;

/** Text from anywhere as it may be shown: controls that reorder it are made visible. */
export function shown(text: string): string {
  return text.replace(
    REORDERING,
    (control) => `⟦U+${control.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0') ?? ''}⟧`,
  );
}

/** The address of a link that may be opened; undefined for any but http, https and mailto. */
export function safeLink(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
}
