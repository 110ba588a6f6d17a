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
        tests: ['channels/telegram-heard.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'channels/markup/html.ts',
    ['channels/markup-telegram.test.ts'],
    [
      {
        name: 'html-escaped',
        holds: 'Text does not become markup of the platform.',
        find: 'escapeHtml(span.text)',
        replace: 'span.text',
      },
      {
        name: 'html-link-escaped',
        holds: 'An address does not end its attribute.',
        find: 'escapeHtml(span.link)',
        replace: 'span.link',
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
        name: 'message-owner',
        holds: 'Only the owner has something sent to another chat.',
        find: "isElsewhere(chat, context) && !atLeast(context.role, 'owner')",
        replace: "isElsewhere(chat, context) && context.role === 'guest'",
      },
      {
        name: 'message-other-chat',
        holds: 'A message to another chat is known as one.',
        find: 'isElsewhere(chat, context)\n        ? elsewhere(',
        replace: "chat === ''\n        ? elsewhere(",
      },
      {
        name: 'message-unknown-chat',
        holds: 'A chat of which it can not be told whether it is this one counts as another.',
        find: 'target === undefined || context.chat === undefined || nameOf(target) !== nameOf(context.chat)',
        replace: 'target !== undefined && context.chat !== undefined && nameOf(target) !== nameOf(context.chat)',
      },
      {
        name: 'message-thread',
        holds: 'Another thread of this chat counts as another chat.',
        find: "[channel, chatId, ...(threadId === undefined ? [] : [threadId])].join(':')",
        replace: "[channel, chatId].join(':')",
      },
      {
        name: 'message-files',
        holds: 'A file that may not be read is not sent either.',
        find: "if (decision !== 'allow') return { decision: 'deny', reason: `${path} is not sent: ${reason}` };",
        replace: "if (decision === 'ask' && path === '') return { decision: 'deny', reason };",
      },
      {
        name: 'message-files-shown',
        holds: 'Whoever is asked about a message is told of its files.',
        find: '[text, ...media, ...buttons',
        replace: '[text, ...buttons',
      },
      {
        name: 'message-visible',
        holds: 'Whoever is asked about a message sees every character of it.',
        find: '${visible(text)}`,',
        replace: '${text}`,',
      },
    ],
  ),
  ...guardsIn(
    'channels/group-talk.ts',
    ['channels/group-talk.test.ts'],
    [
      {
        name: 'group-bots',
        holds: 'Bots do not keep each other talking for ever.',
        find: 'if (this.#botTurns.length >= this.#options.botTurnsPerHour) return false;',
        replace: '',
      },
      {
        name: 'group-partner',
        holds: 'Only whoever spoke to the assistant goes on without meaning it.',
        find: 'partner?.id === sender.id &&',
        replace: 'partner !== undefined &&',
      },
      {
        name: 'group-partner-bots',
        holds: 'A bot always has to mean the assistant.',
        find: 'return !sender.isBot && partner',
        replace: 'return partner',
      },
      {
        name: 'group-places',
        holds: 'What is said in one group is not read along in another.',
        find: 'return JSON.stringify([chatId, threadId]);',
        replace: 'return JSON.stringify([threadId === chatId]);',
      },
      {
        name: 'group-overheard',
        holds: 'What people in a group say to each other begins nothing.',
        find: "const isTaken = (mentioned || this.#options.policy === 'open') &&",
        replace: 'const isTaken =',
      },
    ],
  ),
];
