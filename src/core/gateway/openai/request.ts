import * as z from 'zod';
import { parseChat } from '../../bus/messages.ts';
import type { ReadMessage } from './content.ts';
import { ApiError } from './errors.ts';
import { namedConversation, type Conversation } from './identity.ts';

/** What a request says, whichever API it came by. */
export interface ReadRequest {
  /** Its system texts. */
  readonly instructions: string;
  /** It asks for an answer that is JSON and nothing else. */
  readonly json: boolean;
  /** What was said before, oldest first. */
  readonly conversation: readonly ReadMessage[];
  /** The message to answer. */
  readonly newest: ReadMessage;
  /** Tool results that no message of the user follows; a named session hasn't seen them yet. */
  readonly results: readonly ReadMessage[];
}

/** What a request says beside its messages. */
export interface RequestFacts {
  /** The session that it names; null: none. */
  readonly named: Conversation | null;
  /** The chat in which approvals are asked; null: each is refused. */
  readonly ask: string | null;
}

/** The parameters that both APIs have. */
export const common = {
  model: z.string().min(1, { error: 'it must name a model' }),
  stream: z.boolean().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  tool_choice: z.unknown().optional(),
};

/** Reads the session and the chat for approvals from the headers and `metadata`. Throws when one does not fit. */
export function readFacts(
  header: (name: string) => string | undefined,
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): RequestFacts {
  const session = header('X-Assistant-Session') ?? metadata?.['session'];
  const ask = header('X-Assistant-Ask') ?? metadata?.['ask'];
  if (session !== undefined && typeof session !== 'string') {
    throw new ApiError(400, 'metadata.session must be a text.', { param: 'metadata.session' });
  }
  if (ask !== undefined && (typeof ask !== 'string' || parseChat(ask) === undefined)) {
    const what = 'it must name a chat, such as telegram:123456789';
    throw new ApiError(400, `The chat for approvals does not fit: ${what}.`, { param: 'metadata.ask' });
  }
  return {
    named: session === undefined ? null : namedConversation(session, 'metadata.session'),
    ask: ask ?? null,
  };
}

/** What the model is asked when a program sends tool results and nothing after them, as Open WebUI does. */
const USE_RESULTS = 'Answer my last message, using the tool results above.';

/**
 * Splits a conversation into the message to answer and what came before it. Throws when nothing is left to answer. Tool
 * results are text of others, so they never are the message itself.
 */
export function splitNewest(
  messages: readonly ReadMessage[],
  refusal: { readonly sentence: string; readonly param: string },
): Pick<ReadRequest, 'conversation' | 'newest' | 'results'> {
  const newest = messages.at(-1);
  if (newest?.role !== 'user') throw new ApiError(400, refusal.sentence, { param: refusal.param });
  if (newest.untrusted !== true) return { conversation: messages.slice(0, -1), newest, results: [] };
  const results = messages.slice(messages.findLastIndex(({ untrusted }) => untrusted !== true) + 1);
  const ask: ReadMessage = { role: 'user', parts: [{ type: 'text', text: USE_RESULTS }] };
  return { conversation: messages, newest: ask, results };
}

/**
 * Refuses a request that insists on a call of the client's own tools. Tools that the model may leave alone are ignored:
 * most front ends send some with each request, and the assistant has its own.
 */
export function refuseForcedTools(choice: unknown): void {
  const forced = choice === 'required' || (typeof choice === 'object' && choice !== null);
  if (!forced) return;
  throw new ApiError(
    400,
    'The assistant uses its own tools and cannot be made to call those of the client. Leave tool_choice out, or set it to "auto" or "none".',
    { param: 'tool_choice', code: 'unsupported_parameter' },
  );
}

/** What the prompt says about a form of the answer that was asked for; nothing for plain text. */
export function formatInstruction(format: unknown): readonly string[] {
  const found = z.looseObject({ type: z.string() }).safeParse(format).data;
  const only = 'with no other words and no code fence around it';
  if (found?.type === 'json_object') return [`Answer with one JSON object, ${only}.`];
  if (found?.type !== 'json_schema') return [];
  const schema = found['schema'] ?? z.looseObject({ schema: z.unknown() }).safeParse(found['json_schema']).data?.schema;
  return [`Answer with one JSON value that fits this JSON Schema, ${only}:\n${JSON.stringify(schema ?? {})}`];
}
