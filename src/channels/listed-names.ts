interface People {
  readonly allowFrom: readonly string[];
  readonly owners: readonly string[];
}

/**
 * A sentence about entries of `allowFrom` and `owners` that are no ids of the platform; undefined: all are. Names can be
 * given up and taken by somebody else, so only ids let people in.
 */
export function listedNames(channel: string, { allowFrom, owners }: People, id: RegExp): string | undefined {
  const names = [...allowFrom, ...owners].filter((entry) => entry !== '*' && !id.test(entry));
  if (names.length === 0) return undefined;
  return `channels.${channel} lists ${names.join(', ')}: only numeric user ids let people in. Let them write to the bot once; the log then shows their id.`;
}
