/** `label (address)`, or one of them if the other is missing or says the same. */
export function withAddress(label: string | null | undefined, address: string | null | undefined): string {
  if (!isSaid(address)) return label ?? '';
  return !isSaid(label) || label === address ? address : `${label} (${address})`;
}

export function isSaid(text: string | null | undefined): text is string {
  return text !== null && text !== undefined && text.trim() !== '';
}
