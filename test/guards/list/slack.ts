import { guardsIn, type Guard } from '../guard.ts';

const E2E = 'e2e/slack.test.ts';
const LINE = 'channels/slack-reconnect.test.ts';

/** What Slack's channel reads, fetches and shows. */
export const SLACK_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'channels/slack/threads.ts',
    [E2E],
    [
      {
        name: 'slack-thread-strangers',
        holds: 'What strangers wrote in a thread is not read along.',
        find: 'isOwn(one) || needed[at]?.length !== 0',
        replace: 'true',
      },
    ],
  ),
  ...guardsIn(
    'channels/slack/receiver.ts',
    [LINE],
    [
      {
        name: 'slack-write-first',
        holds: 'Slack is told that a message arrived when it is on disk.',
        find: 'await take(type, body);',
        replace: 'void take(type, body).catch(() => {});',
      },
    ],
  ),
  ...guardsIn(
    'channels/slack/outgoing.ts',
    [E2E],
    [
      {
        name: 'slack-no-previews',
        holds: 'A message that is sent does not make servers fetch the addresses in it.',
        find: 'unfurl_links: false,\n    unfurl_media: false,',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'channels/slack/channel.ts',
    [E2E],
    [
      {
        name: 'slack-private-questions',
        holds: 'What is asked of the owner in a channel is not shown to the others.',
        find: "isApproval(part) && chatTypeOf(part.chatId) === 'group'",
        replace: 'false',
      },
      {
        name: 'slack-private-answers',
        holds: 'The answer to a shortcut is shown to the person who took it alone.',
        find: 'if (given.onlyTo !== undefined) {',
        replace: 'if (given.onlyTo === null) {',
      },
    ],
  ),
];
