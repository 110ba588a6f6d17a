const HIDING =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:!|;|$)|content-visibility\s*:\s*hidden)/iu;

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
