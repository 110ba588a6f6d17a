import { guardsIn, type Guard } from '../guard.ts';

const ACCESS = 'security/access.test.ts';
const PEOPLE = 'journal/people.test.ts';
const TELEGRAM = 'channels/telegram-inbound.test.ts';

/** Who is heard, in which role, and how somebody is let in. */
export const PEOPLE_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/access.ts',
    [ACCESS],
    [
      {
        name: 'access-ranks',
        holds: 'Whoever may do less does not do what needs more.',
        find: 'return roleRank(role) >= roleRank(needed);',
        replace: 'return roleRank(role) <= roleRank(needed);',
      },
      {
        name: 'access-weakest-nobody',
        holds: 'What nobody is named for has the rights of a guest.',
        find: "if (first === undefined) return 'guest';",
        replace: "if (first === undefined) return 'owner';",
      },
      {
        name: 'access-weakest',
        holds: 'What several people began has the rights of the weakest.',
        find: 'roleRank(role) < roleRank(weak) ? role : weak',
        replace: 'roleRank(role) > roleRank(weak) ? role : weak',
      },
      {
        name: 'access-private-role',
        holds: 'Private things are seen by owners alone.',
        find: "where.role === 'owner' && where.chatType",
        replace: "where.role !== 'guest' && where.chatType",
      },
      {
        name: 'access-private-direct',
        holds: 'Private things are seen in direct chats alone, and not where the kind of chat is unknown.',
        find: "&& where.chatType === 'direct';",
        replace: "&& where.chatType !== 'group';",
      },
      {
        name: 'access-unknown-way',
        holds: 'A message that came by a way nobody knows is not heard.',
        find: "return deny('nothing says how the message came');",
        replace: "return allow('owner');",
      },
      {
        name: 'access-no-sender',
        holds: 'A message that does not say who sent it is not heard.',
        find: "if (!isId(id)) return deny('the message does not say who sent it');",
        replace: "if (typeof id !== 'string') return deny('the message does not say who sent it');",
      },
      {
        name: 'access-own-messages',
        holds: "The assistant's own messages, and those of which it is not known, are not heard.",
        find: "sender?.isSelf !== false || typeof sender.isBot !== 'boolean'",
        replace: 'sender === undefined',
      },
      {
        name: 'access-no-chat',
        holds: 'A message that does not say where it was written is not heard.',
        find: "if (!isId(chatId) || (chatType !== 'direct' && chatType !== 'group')) {",
        replace: 'if (!isId(chatId)) {',
      },
      {
        name: 'access-no-list',
        holds: 'A channel without a list of people hears nobody.',
        find: "if (settings?.allowFrom === undefined) return deny('the channel has no allowFrom list');",
        replace: "if (settings?.allowFrom === undefined) return allow('guest');",
      },
      {
        name: 'access-closed-group',
        holds: 'Groups that are not opened are not listened to.',
        find: 'if (closed !== null) return deny(closed);',
        replace: '',
      },
      {
        name: 'access-group-policy',
        holds: 'Groups are off unless the configuration says how they are used.',
        find: "if (policy !== 'mention' && policy !== 'open')",
        replace: "if (policy === 'off')",
      },
      {
        name: 'access-group-no-list',
        holds: 'Where no list of groups is given there is no group.',
        find: "if (allowed === undefined) return 'the channel has no groups.allow list';",
        replace: 'if (allowed === undefined) return null;',
      },
      {
        name: 'access-group-listed',
        holds: 'Of groups that are listed no other is listened to.',
        find: 'if (allowed.length === 0 || names(allowed, chatId)) return null;',
        replace: 'if (allowed.length >= 0) return null;',
      },
      {
        name: 'access-bots',
        holds: 'Other bots are heard only where they are named.',
        find: "chatType === 'group' && groups?.allowBots?.includes(id) === true;",
        replace: "chatType === 'group';",
      },
      {
        name: 'access-bots-direct',
        holds: 'Other bots are never heard in direct chats.',
        find: "const isHeard = chatType === 'group' && groups",
        replace: 'const isHeard = groups',
      },
      {
        name: 'access-bots-guests',
        holds: 'A bot is a guest, however it is listed.',
        find: "return isHeard ? allow('guest')",
        replace: "return isHeard ? allow(configuredRole(id, settings) ?? 'guest')",
      },
      {
        name: 'access-paired',
        holds: 'Somebody who was let in by a code has the role that the code gave, and no better one.',
        find: 'strongest(configuredRole(id, settings), pairedRole?.(id));',
        replace: "strongest(configuredRole(id, settings), pairedRole?.(id) && 'owner');",
      },
      {
        name: 'access-not-paired',
        holds: 'Nobody counts as let in where it is not known.',
        find: 'settings), pairedRole?.(id));',
        replace: "settings), pairedRole === undefined ? 'trusted' : pairedRole(id));",
      },
      {
        name: 'access-everybody',
        holds: 'Everybody is a guest and nothing more.',
        find: "if (settings.allowFrom.includes(EVERYBODY)) return allow('guest');",
        replace: "if (settings.allowFrom.includes(EVERYBODY)) return allow('trusted');",
      },
      {
        name: 'access-open-group',
        holds: 'Members of a group are guests only where that group itself is opened.',
        find: "groups?.policy === 'open' && names(groups.allow, chatId)",
        replace: "groups?.policy !== 'off'",
      },
      {
        name: 'access-stranger',
        holds: 'Whoever is on no list is not heard.',
        find: 'return { ...deny(`the sender ${id} is neither in allowFrom nor paired`), stranger: chatType };',
        replace: "return allow('guest');",
      },
      {
        name: 'access-only-owner',
        holds: 'With several people on the list and no owner named, none of them is one.',
        find: "return owners.length === 0 && listed.size === 1 ? 'owner' : 'trusted';",
        replace: "return owners.length === 0 && listed.size >= 1 ? 'owner' : 'trusted';",
      },
      {
        name: 'access-named-owner',
        holds: 'Once owners are named, nobody else is one.',
        find: "return owners.length === 0 && listed.size === 1 ? 'owner' : 'trusted';",
        replace: "return listed.size === 1 ? 'owner' : 'trusted';",
      },
      {
        name: 'access-star-no-id',
        holds: 'The star stands for no single person.',
        find: "return typeof id === 'string' && id !== '' && id !== EVERYBODY;",
        replace: "return typeof id === 'string' && id !== '';",
      },
      {
        name: 'access-role-words',
        holds: 'A role that nobody knows is the weakest.',
        find: "return role === 'owner' || role === 'trusted' ? role : 'guest';",
        replace: "return role === 'guest' || role === 'trusted' ? role : 'owner';",
      },
    ],
  ),
  ...guardsIn(
    'journal/pairing.ts',
    [PEOPLE],
    [
      {
        name: 'pairing-code-expires',
        holds: 'A code is worth nothing after ten minutes.',
        find: "'SELECT * FROM pairing WHERE code = ? AND expires_at > ?', typed, clock.now()",
        replace: "'SELECT * FROM pairing WHERE code = ? AND expires_at > ?', typed, 0",
      },
      {
        name: 'pairing-once-an-hour',
        holds: 'A stranger gets one code an hour.',
        find: "recent.some((row) => row.text('user_id') === senderId)",
        replace: 'senderId.length === 0',
      },
      {
        name: 'pairing-hourly',
        holds: 'Strangers with many accounts can not make the assistant write without end.',
        find: 'recent.length >= MOST_HOURLY ||',
        replace: '',
      },
      {
        name: 'pairing-pending',
        holds: 'Few codes are valid at once.',
        find: '.length < MOST_PENDING;',
        replace: '.length < MOST_HOURLY;',
      },
      {
        name: 'pairing-wrong',
        holds: 'Codes can not be tried one after another.',
        find: "if (this.lockedUntil() !== null) return 'locked';",
        replace: '',
      },
      {
        name: 'pairing-wrong-counted',
        holds: 'Wrong codes are counted, also across restarts.',
        find: 'const isLocked = wrong >= MOST_WRONG;',
        replace: 'const isLocked = wrong < 0;',
      },
      {
        name: 'pairing-random',
        holds: 'Nobody can guess a code.',
        find: '[...bytes].map((byte) => ALPHABET.charAt(byte % ALPHABET.length))',
        replace: '[...bytes].map((_, at) => ALPHABET.charAt(at))',
      },
      {
        name: 'pairing-used',
        holds: 'A code lets in once.',
        find: "db.run('DELETE FROM pairing WHERE channel = ? AND user_id = ?', channel, person.id);",
        replace: '',
      },
      {
        name: 'pairing-name',
        holds: 'Of what a stranger writes nothing is kept but a short name.',
        find: 'name === undefined ? null : cut(name, LONGEST_NAME)',
        replace: 'name === undefined ? null : name',
      },
    ],
  ),
  ...guardsIn(
    'agent/commands/table.ts',
    ['e2e/owners.test.ts'],
    [
      {
        name: 'people-ownerless-told',
        holds: 'What is wrong with the settings is told in direct chats alone, and to no guest.',
        find: "chatType === 'direct' && role === 'trusted' && command.role === 'owner';",
        replace: "command.role === 'owner';",
      },
    ],
  ),
  ...guardsIn(
    'cli/pair.ts',
    ['cli/pair.test.ts'],
    [
      {
        name: 'people-owner-asked',
        holds: 'Nobody becomes an owner by a code without a flag or a yes that says so.',
        find: "if (flags['trusted'] === true || flags['json'] === true || !isTerminal) return false;",
        replace: "if (flags['trusted'] === true || flags['json'] === true || !isTerminal) return true;",
      },
    ],
  ),
  ...guardsIn(
    'journal/people.ts',
    [PEOPLE],
    [
      {
        name: 'people-channel',
        holds: 'Somebody let in on one channel is a stranger on the others.',
        find: "'SELECT role FROM people WHERE channel = ? AND user_id = ?', channel, id);",
        replace: "'SELECT role FROM people WHERE ? IS NOT NULL AND user_id = ?', channel, id);",
      },
      {
        name: 'people-removed',
        holds: 'Whoever is shut out again is not heard any more.',
        find: "db.run('DELETE FROM people WHERE channel = ? AND user_id = ?', channel, id);",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'channels/telegram/inbound.ts',
    [TELEGRAM],
    [
      {
        name: 'telegram-not-allowed',
        holds: 'What somebody writes who may not is not read.',
        find: "if (!decision.allowed) return { type: 'stranger', sender, chatId, where: chatType };",
        replace: '',
      },
      {
        name: 'telegram-silent',
        holds: 'Bots, closed groups and the like are met with silence.',
        find: 'if (!decision.allowed && decision.stranger === null) return nothing;',
        replace: '',
      },
      {
        name: 'telegram-addressed',
        holds: 'What people in a group say to each other is not heard.',
        find: "type: isMeant ? 'message' : 'overheard',",
        replace: "type: 'message',",
      },
      {
        name: 'telegram-press',
        holds: 'A button that somebody presses who may not does nothing.',
        find: "if (!decision.allowed) return nothing;\n  const threadId = threadOf(message);\n  return {\n    type: 'message',",
        replace: "const threadId = threadOf(message);\n  return {\n    type: 'message',",
        tests: ['channels/telegram-heard.test.ts'],
      },
      {
        name: 'telegram-press-bot',
        holds: 'A program presses no button.',
        find: '|| from.is_bot) return nothing;',
        replace: ') return nothing;',
        tests: ['channels/telegram-heard.test.ts'],
      },
      {
        name: 'telegram-role',
        holds: 'A message has the role that was decided.',
        find: 'sender,\n      role: decision.role,\n      text: edited',
        replace: "sender,\n      role: 'owner',\n      text: edited",
      },
      {
        name: 'telegram-forward',
        holds: 'A forward is known as words of somebody else.',
        find: 'untrusted: isForward(message),',
        replace: 'untrusted: false,',
      },
      {
        name: 'telegram-quoted-author',
        holds: 'Words that are answered are known by who wrote them; a forward is nobody’s own.',
        find: "if (answered.from === undefined || isForward(answered)) return 'other';",
        replace: '',
      },
      {
        name: 'telegram-self',
        holds: 'The bot does not hear itself.',
        find: 'isSelf: from.id === me.id',
        replace: 'isSelf: false',
        tests: ['channels/telegram-heard.test.ts'],
      },
      {
        name: 'telegram-numeric',
        holds: 'People are known by the id of the platform, never by a name that somebody else can take.',
        find: 'const who = { id: sender.id,',
        replace: 'const who = { id: sender.username ?? sender.id,',
        tests: ['channels/telegram-heard.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'app/prompt.ts',
    ['e2e/roles.test.ts'],
    [
      {
        name: 'app-prompt-audience',
        holds: "Only the owner's direct chats have a prompt with private things in it.",
        find: 'ownersDirectChat: seesPrivate({ role, chatType: target.chatType }),',
        replace: "ownersDirectChat: role === 'owner',",
      },
    ],
  ),
];
