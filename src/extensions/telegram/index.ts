import { textOption } from '../../core/api-rows.ts';
import { channelSecret, channelServer, defineExtension, MARKDOWN } from '../../core/api.ts';

/** Telegram. docs/telegram.md */
export default defineExtension({
  name: 'telegram',
  channels: [
    {
      kind: 'telegram',
      shows: MARKDOWN,
      config: {
        kind: 'telegram',
        title: 'Telegram',
        keys: {
          token: channelSecret('the bot’s token.'),
          apiRoot: channelServer('another Bot API server; null: Telegram’s own.'),
        },
        secrets: ['token'],
        ids: { form: /^\d+$/u, what: 'numeric user ids', isChat: true },
        address: { key: 'apiRoot', usual: 'https://api.telegram.org' },
        variables: { token: 'TELEGRAM_BOT_TOKEN', allowFrom: 'TELEGRAM_ALLOW_FROM' },
      },
      setup: {
        title: 'Telegram',
        variable: 'TELEGRAM_BOT_TOKEN',
        options: {
          telegramTokenEnv: textOption(
            '<variable>',
            'the environment variable that holds the token of your bot on Telegram',
          ),
          telegramOwner: textOption('<id>', 'your numeric Telegram id: it makes you the owner there'),
        },
        prepare: async (world, before, { telegramTokenEnv: tokenEnv, telegramOwner: owner }) =>
          (await import('./setup.ts')).setUpTelegram(world, before, { tokenEnv, owner }),
        tryTokens: async (scene, name, settings) => await (await import('./checks.ts')).tryToken(scene, name, settings),
      },
      open: async (name, settings) => (await import('./channel.ts')).openTelegram(name, settings),
    },
  ],
  checks: async () => (await import('./checks.ts')).checks,
});
