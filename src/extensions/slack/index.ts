import { textOption } from '../../core/api-rows.ts';
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
        title: 'Slack',
        variable: 'SLACK_BOT_TOKEN',
        options: {
          slackBotTokenEnv: textOption(
            '<variable>',
            'the environment variable that holds the bot token of your app in Slack',
          ),
          slackAppTokenEnv: textOption(
            '<variable>',
            'the environment variable that holds the app-level token of your app in Slack',
          ),
          slackOwner: textOption('<id>', 'your Slack member id: it makes you the owner there'),
        },
        prepare: async (
          world,
          before,
          { slackBotTokenEnv: botTokenEnv, slackAppTokenEnv: appTokenEnv, slackOwner: owner },
        ) => (await import('./setup.ts')).setUpSlack(world, before, { botTokenEnv, appTokenEnv, owner }),
        tryTokens: async (scene, name, settings) => await (await import('./setup.ts')).tryTokens(scene, name, settings),
      },
      open: async (name, settings) => (await import('./channel.ts')).openSlack(name, settings),
    },
  ],
});
