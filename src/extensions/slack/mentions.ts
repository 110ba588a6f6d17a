/** How Slack writes people, places, links and signs into a text (https://docs.slack.dev/messaging/formatting-message-text). */

export type NameOf = (userId: string) => string | undefined;

/** Most people whose names a text needs. */
const MOST_NAMES = 20;

/** The ids of those who are mentioned. */
export function mentionedIds(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(/<@([UW][A-Z0-9]+)/gu), ([, id = '']) => id))].slice(0, MOST_NAMES);
}

/** A text as people read it: names, addresses and signs instead of Slack's codes. */
export function withNames(text: string, nameOf: NameOf): string {
  const plain = text.replaceAll(/<([^<>]*)>/gu, (_, inner: string) => {
    const [target = '', label = ''] = inner.split(/\|(.*)/su);
    switch (target.charAt(0)) {
      case '@':
        return `@${nameOf(target.slice(1)) ?? (label === '' ? target.slice(1) : label)}`;
      case '#':
        return `#${label === '' ? target.slice(1) : label}`;
      case '!':
        return label === '' ? `@${target.slice(1)}` : label;
      default: {
        const address = target.replace(/^mailto:/u, '');
        return label === '' || label === address ? address : `${label} (${address})`;
      }
    }
  });
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** Without the mention of the bot that a text begins with. */
export function withoutAddress(text: string, userId: string): string {
  return text.replace(new RegExp(`^\\s*(?:<@${userId}(?:\\|[^>]*)?>[\\s,:]*)+`, 'u'), '');
}

export function mentions(text: string, userId: string): boolean {
  return text.includes(`<@${userId}>`) || text.includes(`<@${userId}|`);
}
