import * as z from 'zod';
import { inboxItem, outboxItem } from '../../bus/waiting.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import { listOf, operation } from './operation.ts';

const input = z.object({ id: z.string().describe('Id of the message, as the list has it.') });

/** `isDone`: false for a message that nothing could be done about. */
function answerFor(where: 'outbox' | 'inbox', action: string, id: string, isDone: boolean): null {
  if (isDone) return null;
  const given = JSON.stringify(id.slice(0, 80));
  throw new AppError(
    'mail-unknown',
    `There is no message ${given} to ${action}. To list them, run: ${assistantCommand(where)}`,
  );
}

export const outboxList = operation({
  name: 'outboxList',
  about: 'Lists the messages that wait to be sent or could not be delivered.',
  changes: null,
  input: z.object({}),
  output: listOf(outboxItem),
  run: async ({ journal }) => journal.deadLetters.outbox(),
});

export const outboxRetry = operation({
  name: 'outboxRetry',
  about: 'Sends a message again that could not be delivered; `mail-unknown` if it cannot be sent again.',
  changes: 'mail',
  input,
  output: z.null(),
  run: async ({ journal }, { id }) => answerFor('outbox', 'retry', id, await journal.deadLetters.retry(id)),
});

export const outboxDrop = operation({
  name: 'outboxDrop',
  about: 'Gives up a message that waits to be sent; `mail-unknown` if none with this id waits.',
  changes: 'mail',
  input,
  output: z.null(),
  run: async ({ journal }, { id }) => answerFor('outbox', 'drop', id, await journal.deadLetters.drop(id)),
});

export const inboxList = operation({
  name: 'inboxList',
  about: 'Lists the messages that came in and have not been answered.',
  changes: null,
  input: z.object({}),
  output: listOf(inboxItem),
  run: async ({ journal }) => journal.deadLetters.inbox(),
});

export const inboxRetry = operation({
  name: 'inboxRetry',
  about: 'Gives a message a turn that was given up or refused; `mail-unknown` if nothing can be done about it.',
  changes: 'mail',
  input,
  output: z.null(),
  run: async ({ journal }, { id }) => answerFor('inbox', 'retry', id, await journal.deadLetters.readmit(id)),
});

export const inboxDrop = operation({
  name: 'inboxDrop',
  about: 'Refuses a message that waits for its turn; `mail-unknown` if none with this id waits.',
  changes: 'mail',
  input,
  output: z.null(),
  run: async ({ journal }, { id }) => answerFor('inbox', 'drop', id, await journal.deadLetters.refuse(id)),
});
