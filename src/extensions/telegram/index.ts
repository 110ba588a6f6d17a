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
        where: 'on Telegram',
        tokens: {
          token: 'the token of your bot on Telegram',
        },
        owner: {
          title: 'your numeric Telegram id',
          form: /^\d+$/u,
          problem: 'An id on Telegram is a number, never a name.',
        },
        platform: async () => (await import('./setup.ts')).platform,
      },
      open: async (name, settings) => (await import('./channel.ts')).openTelegram(name, settings),
    },
  ],
  checks: async () => (await import('./checks.ts')).checks,
});
