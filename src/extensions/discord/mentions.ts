import type { DiscordUser } from './payload.ts';

interface Names {
  readonly mentions: readonly DiscordUser[];
  readonly roleName: (id: string) => string | undefined;
  readonly placeName: (id: string) => string | undefined;
}

/** A text with names in the place of ids; what no one knows by name stays as it was sent. */
export function withNames(text: string, { mentions, roleName, placeName }: Names): string {
  return text
    .replaceAll(/<@!?(?<id>\d+)>/gu, (whole, id: string) => {
      const user = mentions.find((one) => one.id === id);
      return user === undefined ? whole : `@${nameOf(user)}`;
    })
    .replaceAll(/<@&(?<id>\d+)>/gu, (whole, id: string) => at('@', roleName(id), whole))
    .replaceAll(/<#(?<id>\d+)>/gu, (whole, id: string) => at('#', placeName(id), whole))
    .replaceAll(/<a?:(?<name>\w+):\d+>/gu, ':$<name>:');
}

export function nameOf({ id, username, global_name: name }: DiscordUser, nick?: string | null): string {
  return [nick, name, username].find((one) => typeof one === 'string' && one !== '') ?? id;
}

function at(sign: string, name: string | undefined, whole: string): string {
  return name === undefined || name === '' ? whole : sign + name.replace(/^@/u, '');
}
