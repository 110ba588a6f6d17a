import { guardsIn, type Guard } from '../guard.ts';

/** Who is heard on Discord, and what is sent there. */
export const DISCORD_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'channels/discord/inbound.ts',
    ['channels/discord-inbound.test.ts'],
    [
      {
        name: 'discord-webhook',
        holds: 'A webhook speaks for no one, whatever name it has.',
        find: 'message.author.bot === true || message.webhook_id !== undefined',
        replace: 'message.author.bot === true',
      },
      {
        name: 'discord-self',
        holds: 'The bot does not hear itself.',
        find: 'isSelf: user.id === me.id',
        replace: 'isSelf: false',
      },
      {
        name: 'discord-ids',
        holds: 'People are known by the id of the platform, never by a name that somebody else can take.',
        find: 'sender: { id: user.id, isBot,',
        replace: 'sender: { id: user.username, isBot,',
      },
      {
        name: 'discord-quoted-webhook',
        holds: 'A webhook’s words are not those of the person whose name it has.',
        find: '&& answered.webhook_id === undefined ?',
        replace: '?',
      },
    ],
  ),
  ...guardsIn(
    'channels/discord/send.ts',
    ['channels/discord-send.test.ts'],
    [
      {
        name: 'discord-no-pings',
        holds: 'A message that is sent or edited pings no one.',
        find: 'allowed_mentions: { parse: [], replied_user: false },',
        replace: '',
      },
      {
        name: 'discord-no-previews',
        holds: 'A message does not make servers fetch the addresses in it.',
        find: 'flags: SUPPRESS_EMBEDS |',
        replace: 'flags: 0 |',
      },
    ],
  ),
  ...guardsIn(
    'channels/discord/command-answer.ts',
    ['channels/discord-send.test.ts'],
    [
      {
        name: 'discord-private-late',
        holds: 'An answer for one person alone is not sent to all once its place is over.',
        find: 'if (waits === undefined && isPrivate) throw tooLate();',
        replace: '',
      },
      {
        name: 'discord-private-refused',
        holds: 'Nor where Discord refuses its place.',
        find: 'if (isPrivate) throw tooLate();',
        replace: '',
      },
    ],
  ),
];
