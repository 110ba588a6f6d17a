import { channelSecret, channelServer, defineExtension, MARKDOWN } from '../../core/api.ts';

/** Discord. docs/discord.md */
export default defineExtension({
  name: 'discord',
  channels: [
    {
      kind: 'discord',
      shows: MARKDOWN,
      config: {
        kind: 'discord',
        title: 'Discord',
        keys: {
          token: channelSecret('the bot’s token.'),
          apiBase: channelServer('another API server; null: Discord’s own.'),
        },
        secrets: ['token'],
        ids: { form: /^\d{1,20}$/u, what: 'numeric user ids' },
        address: { key: 'apiBase', usual: 'https://discord.com/api' },
        variables: { token: 'DISCORD_BOT_TOKEN', allowFrom: 'DISCORD_ALLOW_FROM' },
      },
      setup: {
        where: 'on Discord',
        tokens: {
          token: 'the token of your bot on Discord',
        },
        owner: {
          title: 'your Discord user id',
          form: /^\d{15,21}$/u,
          problem: 'An id on Discord is a long number, never a name.',
        },
        platform: async () => (await import('./setup.ts')).platform,
      },
      open: async (name, settings) => (await import('./channel.ts')).openDiscord(name, settings),
    },
  ],
  checks: async () => (await import('./checks.ts')).checks,
});
