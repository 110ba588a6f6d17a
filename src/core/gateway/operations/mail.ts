import * as z from 'zod';
import type { InboxItem, OutboxItem } from '../../bus/waiting.ts';
import { answers } from './operation.ts';

const params = z.object({ id: z.string().describe('Id of the message, as the list has it.') });
const nothing = z.object({});

export const mail = {
  outboxList: answers<readonly OutboxItem[]>()({
    description: 'Lists the messages that wait to be sent or could not be delivered.',
    role: 'owner',
    changes: false,
    params: nothing,
  }),
  outboxRetry: answers<null>()({
    description: 'Sends a message again that could not be delivered; `mail-unknown` if it cannot be sent again.',
    role: 'owner',
    changes: true,
    params,
  }),
  outboxDrop: answers<null>()({
    description: 'Gives up a message that waits to be sent; `mail-unknown` if none with this id waits.',
    role: 'owner',
    changes: true,
    params,
  }),
  inboxList: answers<readonly InboxItem[]>()({
    description: 'Lists the messages that came in and have not been answered.',
    role: 'owner',
    changes: false,
    params: nothing,
  }),
  inboxRetry: answers<null>()({
    description: 'Gives a message a turn that was given up or refused; `mail-unknown` if nothing can be done about it.',
    role: 'owner',
    changes: true,
    params,
  }),
  inboxDrop: answers<null>()({
    description: 'Refuses a message that waits for its turn; `mail-unknown` if none with this id waits.',
    role: 'owner',
    changes: true,
    params,
  }),
};
