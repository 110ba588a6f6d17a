import { guardsIn, type Guard } from '../guard.ts';

/** What is sent to people. */
export const OUTGOING_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'channels/inbound/gate.ts',
    ['channels/telegram-receive.test.ts', 'e2e/discord.test.ts'],
    [
      {
        name: 'knock-direct',
        holds: 'No one in a group is sent a code.',
        find: "where === 'direct' ? { senderId: sender.id, name: sender.name, chatId } : null",
        replace: '{ senderId: sender.id, name: sender.name, chatId }',
      },
    ],
  ),
  ...guardsIn(
    'agent/turn/end.ts',
    ['e2e/receipts.test.ts'],
    [
      {
        name: 'unfinished-unnamed',
        holds: 'Guests and the others in a group read no path, command or chat of what was not done.',
        find: "const named = role !== 'guest' && facts.messages.at(-1)?.chatType === 'direct';",
        replace: 'const named = true;',
      },
    ],
  ),
  ...guardsIn(
    'journal/undelivered.ts',
    ['channels/delivery-lost.test.ts'],
    [
      {
        name: 'lost-private',
        holds: 'What one person alone might see is not quoted to others when it is lost.',
        find: "(json_extract(payload, '$.metadata.${ONLY_TO}') IS NULL AND (kind IN",
        replace: '(1 AND (kind IN',
      },
    ],
  ),
  ...guardsIn(
    'channels/telegram/channel.ts',
    ['channels/telegram-send.test.ts', 'channels/telegram-senders.test.ts'],
    [
      {
        name: 'telegram-no-previews',
        holds: 'A message that is sent or edited does not make servers fetch the addresses in it.',
        find: 'return {\n    link_preview_options: { is_disabled: true },',
        replace: 'return {',
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
        find: 'target === null || person.chat === null || nameOf(target) !== nameOf(person.chat)',
        replace: 'target !== null && person.chat !== null && nameOf(target) !== nameOf(person.chat)',
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
