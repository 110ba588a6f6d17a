import { channelSecret, channelServer, defineExtension, MARKDOWN } from '../../core/api.ts';

/** Slack. docs/slack.md */
export default defineExtension({
  name: 'slack',
  channels: [
    {
      kind: 'slack',
      shows: MARKDOWN,
      config: {
        kind: 'slack',
        title: 'Slack',
        keys: {
          botToken: channelSecret('the bot token (`xoxb-…`).'),
          appToken: channelSecret('the app token (`xapp-…`).'),
          apiUrl: channelServer('another API server; null: Slack’s own.'),
        },
        secrets: ['botToken', 'appToken'],
        ids: { form: /^[UW][A-Z0-9]{2,}$/u, what: 'member ids (U…)', isChat: true },
        address: { key: 'apiUrl', usual: 'https://slack.com/api' },
        variables: { botToken: 'SLACK_BOT_TOKEN', appToken: 'SLACK_APP_TOKEN', allowFrom: 'SLACK_ALLOW_FROM' },
      },
      setup: {
        where: 'in Slack',
        tokens: {
          botToken: 'the bot token of your app in Slack',
          appToken: 'the app-level token of your app in Slack',
        },
        owner: {
          title: 'your Slack member id',
          form: /^[UW][A-Z0-9]{5,20}$/u,
          problem: 'A member id in Slack looks like U0123456789.',
        },
        platform: async () => (await import('./setup.ts')).platform,
      },
      open: async (name, settings) => (await import('./channel.ts')).openSlack(name, settings),
    },
  ],
});
