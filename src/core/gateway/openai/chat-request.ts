import * as z from 'zod';
import { contentSchema, readContent, type ReadMessage } from './content.ts';
import { common, formatInstruction, refuseForcedTools, splitNewest, type ReadRequest } from './request.ts';

const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: contentSchema,
  name: z.string().nullish(),
});

const chatRequest = z.looseObject({
  ...common,
  messages: z.array(message).min(1),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
});

/** The schema of the body of `POST /v1/chat/completions`; what it does not name is ignored. */
export const chatSchema = chatRequest;

/** Reads a request for a chat completion. Throws an `ApiError` when it cannot be answered. */
export function readChat({ messages, tool_choice, response_format }: z.output<typeof chatSchema>): ReadRequest {
  refuseForcedTools(tool_choice);
  const instructions: string[] = [];
  const conversation: ReadMessage[] = [];
  for (const [n, { role, content }] of messages.entries()) {
    const parts = readContent(content, `messages.${n}.content`);
    switch (role) {
      case 'system':
      case 'developer':
        instructions.push(...parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
        break;
      case 'user':
      case 'assistant':
        conversation.push({ role, parts });
        break;
      // The calls themselves are left out: they are of tools that this assistant does not have.
      case 'tool':
      case 'function':
        conversation.push({ role: 'user', parts, untrusted: true });
        break;
    }
  }
  const split = splitNewest(conversation, {
    sentence: 'The last message must be one of the user: it is what the assistant answers.',
    param: 'messages',
  });
  const format = formatInstruction(response_format);
  instructions.push(...format);
  return { instructions: instructions.join('\n\n'), json: format.length > 0, ...split };
}
