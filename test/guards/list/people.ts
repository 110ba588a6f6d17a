import { guardsIn, type Guard } from '../guard.ts';

const ACCESS = 'security/access.test.ts';
const PEOPLE = 'journal/people.test.ts';
const TELEGRAM = 'channels/telegram-inbound.test.ts';

/** Who is heard, in which role, and how somebody is let in. */
export const PEOPLE_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/access/access.ts',
    [ACCESS],
    [
      {
        name: 'access-weakest-nobody',
        holds: 'What no one is named for has the rights of a guest.',
        find: "if (first === undefined) return 'guest';",
        replace: "if (first === undefined) return 'owner';",
      },
      {
        name: 'access-unknown-way',
        holds: 'A message that came by a way no one knows is not heard.',
        find: "return deny('the message does not say how it came');",
        replace: "return allow('owner');",
      },
      {
        name: 'access-own-messages',
        holds: "The assistant's own messages, and those of which it is not known, are not heard.",
        find: "sender?.isSelf !== false || typeof sender.isBot !== 'boolean'",
        replace: 'sender === undefined',
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
        find: 'strongest(configuredRole(id, settings), pairedRole?.(id, chatId));',
        replace: "strongest(configuredRole(id, settings), pairedRole?.(id, chatId) && 'owner');",
      },
      {
        name: 'access-not-paired',
        holds: 'No one counts as let in where it is not known.',
        find: 'settings), pairedRole?.(id, chatId));',
        replace: "settings), pairedRole === undefined ? 'trusted' : pairedRole(id, chatId));",
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
        name: 'access-only-owner',
        holds: 'With several people on the list and no owner named, none of them is one.',
        find: "return owners.length === 0 && listed.size === 1 ? 'owner' : 'trusted';",
        replace: "return owners.length === 0 && listed.size >= 1 ? 'owner' : 'trusted';",
      },
    ],
  ),
  ...guardsIn(
    'channels/supervised-channel.ts',
    ['channels/manager.test.ts'],
    [
      {
        name: 'paired-guest-plugins',
        holds: 'A guest is not paired for a channel that takes everybody who is paired for trusted.',
        find: "['owner', 'trusted'].includes(people.pairedRole(source.name, id) ?? '')",
        replace: 'people.pairedRole(source.name, id) !== undefined',
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
        name: 'pairing-pending',
        holds: 'Few codes are valid at once.',
        find: '.length < MOST_PENDING;',
        replace: '.length < MOST_HOURLY;',
      },
      {
        name: 'pairing-wrong-counted',
        holds: 'Wrong codes are counted, also across restarts.',
        find: 'const isLocked = wrong >= MOST_WRONG;',
        replace: 'const isLocked = wrong < 0;',
      },
      {
        name: 'pairing-random',
        holds: 'No one can guess a code.',
        find: '[...bytes].map((byte) => ALPHABET.charAt(byte % ALPHABET.length))',
        replace: '[...bytes].map((_, at) => ALPHABET.charAt(at))',
      },
    ],
  ),
  ...guardsIn(
    'cli/print.ts',
    ['cli/pair.test.ts', 'cli/approvals.test.ts', 'cli/audit.test.ts'],
    [
      {
        name: 'cli-lines-harmless',
        holds: 'What a command lists cannot move the cursor or hide a character of what a person agrees to.',
        find: 'escape = escapeInvisible } = found',
        replace: 'escape = (text: string) => text } = found',
      },
    ],
  ),
  ...guardsIn(
    'cli/data/pair.ts',
    ['cli/pair.test.ts'],
    [
      {
        name: 'people-owner-asked',
        holds: 'No one becomes an owner by a code without a flag or a yes that says so.',
        find: 'if (json || !isTerminal) return false;',
        replace: 'if (json || !isTerminal) return true;',
      },
    ],
  ),
  ...guardsIn(
    'journal/people.ts',
    [PEOPLE],
    [
      {
        name: 'paired-guest',
        holds: 'Somebody whom a code made a guest, or whose role is not known, is a guest.',
        find: "return role === 'owner' || role === 'trusted' ? role : 'guest';",
        replace: "return role === 'owner' ? role : 'trusted';",
      },
      {
        name: 'people-channel',
        holds: 'Somebody let in on one channel is a stranger on the others.',
        find: "'SELECT role FROM people WHERE channel = ? AND user_id = ?', channel, id);",
        replace: "'SELECT role FROM people WHERE ? IS NOT NULL AND user_id = ?', channel, id);",
      },
    ],
  ),
  ...guardsIn(
    'channels/inbound/draft.ts',
    ['channels/telegram-inbound.test.ts', 'channels/discord-inbound.test.ts', 'e2e/slack.test.ts'],
    [
      {
        name: 'inbound-addressed',
        holds: 'What people in a group say to each other is not heard.',
        find: "type: isMeant ? 'message' : 'overheard',",
        replace: "type: 'message',",
      },
      {
        name: 'inbound-role',
        holds: 'A message has the role that was decided.',
        find: 'role: decision.role,\n    text,\n    media,',
        replace: "role: 'trusted',\n    text,\n    media,",
      },
    ],
  ),
  ...guardsIn(
    'channels/telegram/inbound.ts',
    [TELEGRAM],
    [
      {
        name: 'telegram-self',
        holds: 'The bot does not hear itself.',
        find: 'isSelf: from.id === me.id',
        replace: 'isSelf: false',
        tests: ['channels/telegram-senders.test.ts'],
      },
      {
        name: 'telegram-numeric',
        holds: 'People are known by the id of the platform, never by a name that somebody else can take.',
        find: 'const who = { id: sender.id,',
        replace: 'const who = { id: sender.username ?? sender.id,',
        tests: ['channels/telegram-senders.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'app/agent/prompt.ts',
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
