import * as z from 'zod';
import { contentSchema, readContent, type ReadMessage } from './content.ts';
import { common, formatInstruction, refuseForcedTools, splitNewest, type ReadRequest } from './request.ts';

const message = z.looseObject({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: contentSchema,
});
const result = z.looseObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output']),
  output: z.unknown().optional(),
});

/** The schema of the body of `POST /v1/responses`; what it does not name is ignored. */
export const responsesSchema = z.looseObject({
  ...common,
  input: z.union([z.string(), z.array(z.looseObject({})).min(1)]),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() }).transform(({ id }) => id)]).nullish(),
  background: z.boolean().nullish(),
  text: z.looseObject({ format: z.unknown().optional() }).nullish(),
});

/** Reads a request for a response. Throws an `ApiError` when it cannot be answered. */
export function readResponses(body: z.output<typeof responsesSchema>): ReadRequest {
  refuseForcedTools(body.tool_choice);
  const instructions: string[] = [];
  if (typeof body.instructions === 'string' && body.instructions !== '') instructions.push(body.instructions);
  const conversation: ReadMessage[] = [];
  const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input;
  for (const [n, item] of items.entries()) {
    const said = message.safeParse(item).data;
    if (said !== undefined) {
      const parts = readContent(said.content, `input.${n}.content`);
      if (said.role === 'user' || said.role === 'assistant') conversation.push({ role: said.role, parts });
      else instructions.push(...parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])));
      continue;
    }
    const output = result.safeParse(item).data?.output;
    if (output !== undefined) {
      const text = typeof output === 'string' ? output : JSON.stringify(output);
      conversation.push({ role: 'user', parts: [{ type: 'text', text }], untrusted: true });
    }
    // Calls, reasoning and references are of tools and answers that this assistant does not have.
  }
  const split = splitNewest(conversation, {
    sentence: 'The input must end with a message of the user: it is what the assistant answers.',
    param: 'input',
  });
  const format = formatInstruction(body.text?.format);
  instructions.push(...format);
  return { instructions: instructions.join('\n\n'), json: format.length > 0, ...split };
}
