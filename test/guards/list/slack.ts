import { guardsIn, type Guard } from '../guard.ts';

const E2E = 'e2e/slack.test.ts';
const LINE = 'channels/slack-line.test.ts';
const CONTRACT = 'contract/slack.test.ts';

/** What Slack's channel reads, fetches and shows. */
export const SLACK_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'channels/slack/inbound.ts',
    [E2E],
    [
      {
        name: 'slack-not-allowed',
        holds: 'What somebody writes who may not is not read.',
        find: "if (!decision.allowed) return { type: 'stranger', sender, chatId, where: chatType };",
        replace: '',
      },
      {
        name: 'slack-addressed',
        holds: 'What people in a channel say to each other is not heard.',
        find: "type: isMeant ? 'message' : 'overheard',",
        replace: "type: 'message',",
      },
      {
        name: 'slack-share',
        holds: 'A shared message is known as words of somebody else.',
        find: 'untrusted: shared,',
        replace: 'untrusted: false,',
        tests: [CONTRACT],
      },
      {
        name: 'slack-role',
        holds: 'A message has the role that was decided.',
        find: 'sender,\n      role: decision.role,\n      text: edited',
        replace: "sender,\n      role: 'trusted',\n      text: edited",
      },
    ],
  ),
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
    'channels/slack/files.ts',
    [E2E],
    [
      {
        name: 'slack-token-stays',
        holds: 'The token is sent to no other server than Slack’s.',
        find: 'if (!isSlacks(url, options.apiUrl))',
        replace: 'if (false)',
      },
      {
        name: 'slack-sign-in',
        holds: 'A sign-in page is not taken for a file.',
        find: "if (isPage && !(file.mimetype === 'text/html' && file.size === bytes.byteLength))",
        replace: 'if (false)',
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
    ],
  ),
  ...guardsIn(
    'channels/slack/home.ts',
    [E2E],
    [
      {
        name: 'slack-home',
        holds: 'A stranger sees nothing in the home of the app.',
        find: 'if (role === null) return;',
        replace: '',
      },
    ],
  ),
];
