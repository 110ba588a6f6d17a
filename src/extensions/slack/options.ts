import * as z from 'zod';
import { groupOptions, reactionOptions } from '../../core/api-channels.ts';

const token = (prefix: string, what: string, where: string) =>
  z.string({ error: `expected the ${what} (${prefix}…) from ${where}` }).regex(new RegExp(`^${prefix}[\\w-]+$`, 'u'), {
    error: `expected the ${what}, which begins with ${prefix} (${where})`,
  });

/** What a Slack channel needs from its configuration. */
export const slackOptions = z.object({
  /** Token of the bot, from "OAuth & Permissions". */
  botToken: token('xoxb-', 'bot token', '"OAuth & Permissions" of your Slack app'),
  /** Token of the app, with the scope `connections:write`, from "Basic Information". */
  appToken: token('xapp-', 'app-level token', '"Basic Information" of your Slack app'),
  /** Another Web API server; null for Slack's own. */
  apiUrl: z
    .url({ protocol: /^https?$/u, error: 'expected an http(s) address' })
    .transform((url) => `${url.replace(/\/+$/u, '')}/`)
    .nullish(),
  /** User ids (`U…`) of people who may write; `*`: everyone. @default no one */
  allowFrom: z.array(z.coerce.string()).default([]),
  /** User ids of the owners. @default none */
  owners: z.array(z.coerce.string()).default([]),
  groups: groupOptions,
  reactions: reactionOptions,
});

export type SlackOptions = z.output<typeof slackOptions>;
