import { textOption } from '../../core/api-rows.ts';
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
        title: 'Discord',
        variable: 'DISCORD_BOT_TOKEN',
        options: {
          discordTokenEnv: textOption(
            '<variable>',
            'the environment variable that holds the token of your bot on Discord',
          ),
          discordOwner: textOption('<id>', 'your Discord user id: it makes you the owner there'),
        },
        prepare: async (world, before, { discordTokenEnv: tokenEnv, discordOwner: owner }) =>
          (await import('./setup.ts')).setUpDiscord(world, before, { tokenEnv, owner }),
        tryTokens: async (scene, name, settings) => await (await import('./checks.ts')).tryToken(scene, name, settings),
      },
      open: async (name, settings) => (await import('./channel.ts')).openDiscord(name, settings),
    },
  ],
  checks: async () => (await import('./checks.ts')).checks,
});
