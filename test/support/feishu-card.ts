/** What people read of a card: its Markdown without marks, tables and pictures aside. */
export function cardText(card: unknown): string {
  return markdownOf(card).map(shown).join('\n');
}

/** The Markdown of a card as it was sent. */
export function markdownOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(markdownOf);
  if (typeof value !== 'object' || value === null) return [];
  if ('tag' in value && value.tag === 'markdown' && 'content' in value) return [String(value.content)];
  return Object.values(value).flatMap(markdownOf);
}

function shown(markdown: string): string {
  const pieces = markdown.split(/^(`{3,}[^\n]*\n[^]*?\n?`{3,}$)/mu);
  return pieces
    .map((piece) => (piece.startsWith('```') ? piece.replaceAll(/^`{3,}.*\n?/gmu, '').trimEnd() : inline(piece)))
    .join('')
    .replaceAll(/&#(?<code>\d+);/gu, (_, code: string) => String.fromCodePoint(Number(code)));
}

function inline(text: string): string {
  return text
    .replaceAll(/^#{1,6} /gmu, '')
    .replaceAll(/\[(?<label>[^\]]*)\]\([^)\s]*\)/gu, '$<label>')
    .replaceAll(/(?<marks>\*\*|~~|`+)(?<inner>[^\n]+?)\k<marks>/gu, '$<inner>')
    .replaceAll(/(?<!\w)_(?<inner>[^_\n]+)_(?!\w)/gu, '$<inner>');
}
