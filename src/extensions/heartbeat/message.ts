import { FROM, type InboundMessage } from '../../core/api.ts';
import { ANSWER_TTL } from '../../core/api-turns.ts';

/** Every heartbeat is held here. */
export const HEARTBEAT_SESSION = 'heartbeat';

/** A report that could not be delivered within this time is no longer sent. */
const REPORT_TTL_MS = 2 * 3_600_000;

/** Who is told, and whose rights it has. */
export type HeartbeatTarget = Pick<
  InboundMessage,
  'channel' | 'account' | 'chatId' | 'threadId' | 'chatType' | 'sender' | 'sessionKey'
>;

/** What asks for the turn that does the tasks. */
export function heartbeatRequest(
  target: HeartbeatTarget,
  look: {
    readonly id: string;
    readonly at: number;
    readonly tasks: string;
    /** `provider/model`; null: the session's. */
    readonly model: string | null;
    /** Strangers had a part in HEARTBEAT.md. */
    readonly untrusted: boolean;
  },
): InboundMessage {
  return {
    ...target,
    id: look.id,
    role: 'owner',
    text: [
      'This is a heartbeat: the program wakes you by itself to look after the open tasks that the owner keeps in HEARTBEAT.md. Of them, this is to be done now:',
      look.tasks,
      'No one waits for an answer. Do it, then say in a few sentences what came of it; afterwards the program decides whether your last text is sent to the owner. Check off what is done for good in HEARTBEAT.md: turn its - [ ] into - [x].',
    ].join('\n\n'),
    media: [],
    mentioned: true,
    context: [],
    receivedAt: look.at,
    externalId: `heartbeat:${look.at}`,
    sessionKey: HEARTBEAT_SESSION,
    origin: 'heartbeat',
    untrusted: false,
    metadata: {
      [FROM]: 'the heartbeat',
      [ANSWER_TTL]: REPORT_TTL_MS,
      taint: { untrusted: look.untrusted, private: true },
      ...(look.model === null ? {} : { model: look.model }),
    },
  };
}
