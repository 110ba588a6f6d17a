import { guardsIn, type Guard } from '../guard.ts';

/** What is sent to people. */
export const OUTGOING_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'channels/telegram/channel.ts',
    ['channels/telegram-receive.test.ts'],
    [
      {
        name: 'telegram-knock-direct',
        holds: 'Nobody in a group is sent a code.',
        find: "if (where === 'direct') strangers.set(",
        replace: 'strangers.set(',
      },
      {
        name: 'telegram-no-previews',
        holds: 'A message that is sent does not make servers fetch the addresses in it.',
        find: '...addressOf(part),\n      link_preview_options: { is_disabled: true },',
        replace: '...addressOf(part),',
        tests: ['channels/telegram-send.test.ts'],
      },
      {
        name: 'telegram-no-previews-edited',
        holds: 'A message that is edited does not make servers fetch the addresses in it.',
        find: 'message_id: Number(part.platformId),\n      link_preview_options: { is_disabled: true },',
        replace: 'message_id: Number(part.platformId),',
        tests: ['channels/telegram-senders.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'channels/markup/telegram.ts',
    ['channels/markup-telegram.test.ts'],
    [
      {
        name: 'markdown-safe-links',
        holds: 'A link that runs something (javascript:, data:) is not made.',
        find: '/^(?:https?|tg):\\/\\/./iu.test(href) &&',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'channels/markup/parser.ts',
    ['channels/markup-telegram.test.ts'],
    [
      {
        name: 'markdown-no-html',
        holds: 'HTML that a model writes is text.',
        find: 'html: false',
        replace: 'html: true',
      },
    ],
  ),
  ...guardsIn(
    'tools/message.ts',
    ['tools/message.test.ts'],
    [
      {
        name: 'message-other-chat',
        holds: 'A message to another chat is known as one.',
        find: 'isElsewhere(chat, context)\n        ? elsewhere(',
        replace: "chat === ''\n        ? elsewhere(",
      },
      {
        name: 'message-unknown-chat',
        holds: 'A chat of which it cannot be told whether it is this one counts as another.',
        find: 'target === undefined || context.chat === undefined || nameOf(target) !== nameOf(context.chat)',
        replace: 'target !== undefined && context.chat !== undefined && nameOf(target) !== nameOf(context.chat)',
      },
      {
        name: 'message-files-shown',
        holds: 'Whoever is asked about a message is told of its files.',
        find: '[text, ...media, ...buttons',
        replace: '[text, ...buttons',
      },
    ],
  ),
  ...guardsIn(
    'channels/inbound/group-talk.ts',
    ['channels/group-talk.test.ts'],
    [
      {
        name: 'group-places',
        holds: 'What is said in one group is not read along in another.',
        find: 'return JSON.stringify([chatId, threadId]);',
        replace: 'return JSON.stringify([threadId === chatId]);',
      },
    ],
  ),
];
