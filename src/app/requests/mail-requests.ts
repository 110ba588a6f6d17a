import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import type { Journal } from '../../core/journal/journal.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';

type MailRequests = 'outboxList' | 'outboxRetry' | 'outboxDrop' | 'inboxList' | 'inboxRetry' | 'inboxDrop';

/** What a person may ask about messages that wait or got stuck. */
export function mailRequests(letters: Journal['deadLetters']): Pick<RequestHandlers, MailRequests> {
  /** `change` is false for a message that it can do nothing about. */
  const decided =
    (where: 'outbox' | 'inbox', action: string, change: (id: string) => Promise<boolean>) =>
    async ({ id }: { readonly id: string }): Promise<null> => {
      if (await change(id)) return null;
      const given = JSON.stringify(id.slice(0, 80));
      throw new AppError(
        'mail-unknown',
        `There is no message ${given} to ${action}. To list them, run: ${assistantCommand(where)}`,
      );
    };
  return {
    outboxList: async () => letters.outbox(),
    outboxRetry: decided('outbox', 'retry', (id) => letters.retry(id)),
    outboxDrop: decided('outbox', 'drop', (id) => letters.drop(id)),
    inboxList: async () => letters.inbox(),
    inboxRetry: decided('inbox', 'retry', (id) => letters.readmit(id)),
    inboxDrop: decided('inbox', 'drop', (id) => letters.refuse(id)),
  };
}
