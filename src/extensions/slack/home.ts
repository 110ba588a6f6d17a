import type { App } from '@slack/bolt';
import { type MenuCommand, withCommandPrefix } from '../../core/api-channels.ts';
import { type Logger, errorMessage, cut } from '../../core/api.ts';

export interface HomeFacts {
  /** What the bot is called. */
  readonly name: string;
  readonly commands: readonly MenuCommand[];
  /** As of `Channel`. */
  readonly commandPrefix: string;
  /** Null: they may not write, and see nothing. */
  readonly roleOf: (userId: string) => 'owner' | 'other' | null;
  readonly log: Logger;
}

/** Greets people in the app's home, and takes a private question away once it was answered. */
export function addListeners(app: App, { name, commands, commandPrefix, roleOf, log }: HomeFacts): void {
  app.event('app_home_opened', async ({ event, client }) => {
    const role = event.tab === 'home' ? roleOf(event.user) : null;
    if (role === null) return;
    const shown = commands.filter(({ isOwners }) => !isOwners || role === 'owner');
    const list = shown
      .map(({ name: command, description }) => `• \`/${command}\` ${description}`)
      .map((line) => withCommandPrefix(line, commandPrefix))
      .join('\n');
    const text = `*Hello, I am ${name}.* Write to me under Messages, mention me in a channel, or use a command:\n${list}`;
    try {
      const section = { type: 'section' as const, text: { type: 'mrkdwn' as const, text: cut(text, 3_000) } };
      await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [section] } });
    } catch (error) {
      log.debug('slack: app home not shown', { reason: errorMessage(error) });
    }
  });
  app.action(/^/u, async ({ body, respond }) => {
    if ('container' in body && body.container?.['is_ephemeral'] === true) await respond({ delete_original: true });
  });
}
