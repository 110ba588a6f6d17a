import * as z from 'zod';

const emoji = z.union([z.string(), z.literal(false)]).nullish();

/** The setting `reactions` of a channel. A wrong value counts as none: no reaction may keep a channel from running. */
export const reactionOptions = z
  .object({ seen: emoji, working: emoji, done: emoji, failed: emoji })
  .optional()
  .catch(undefined);

/** The emoji that the setting names. */
export function emojisOf(setting: z.output<typeof reactionOptions>): readonly string[] {
  return Object.values(setting ?? {}).filter((one) => typeof one === 'string');
}
