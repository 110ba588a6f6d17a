import type { Role } from '../bus/messages.ts';
import type { Person } from '../app.ts';
import { asRole, decideAccess, localRole, weakest } from '../security/access/access.ts';
import { isOwnersChannel } from '../util/owners-channels.ts';
import type { Base } from '../assistant/base.ts';
import type { Stores } from '../stores/stores.ts';

/** The weaker of a role then and what the person may be now; null: they are not let in any more. */
export function roleNow(
  { config }: Pick<Base, 'config'>,
  { journal }: Pick<Stores, 'journal'>,
  by: Person,
  then: string,
): Role | null {
  if (isOwnersChannel(by.channel)) return weakest(asRole(then), localRole('terminal'));
  const decision = decideAccess({
    via: 'channel',
    settings: config.channels[by.channel],
    pairedRole: (id) => journal.people.pairedRole(by.channel, id),
    chatType: by.chatType,
    chatId: by.chat,
    sender: { id: by.id, isBot: false, isSelf: false },
  });
  return decision.allowed ? weakest(asRole(then), decision.role) : null;
}
