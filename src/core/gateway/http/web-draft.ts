import type { InboundDraft } from '../../bus/messages.ts';
import { localRole } from '../../security/access/access.ts';
import type { Clock } from '../../util/clock.ts';
import { localUser } from '../local-user.ts';

/** What a person says on the page, as a message of the channel `web`. `id`: new for each message; `chat`: one of the page. */
export function webDraft(
  { clock }: { readonly clock: Pick<Clock, 'now'> },
  said: { readonly id: string; readonly chat: string } & Pick<InboundDraft, 'text'> &
    Partial<Pick<InboundDraft, 'media' | 'metadata' | 'action'>>,
): InboundDraft {
  const { action } = said;
  return {
    channel: 'web',
    account: 'local',
    chatId: said.chat,
    chatType: 'direct',
    sender: { id: 'owner', name: localUser(), isBot: false },
    role: localRole('gateway-token'),
    text: said.text,
    media: said.media ?? [],
    mentioned: true,
    context: [],
    receivedAt: clock.now(),
    externalId: `m:${said.id}`,
    origin: 'user',
    untrusted: false,
    ...(action === undefined ? {} : { action }),
    metadata: said.metadata ?? {},
  };
}
