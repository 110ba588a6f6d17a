import type OpenAI from 'openai';
import * as z from 'zod';
import type { AssistantPart, ModelRequest, ToolChoice, UserPart } from './provider.ts';
import {
  argumentsObject,
  EMPTY_ANSWER,
  isImage,
  joinSystem,
  leftOut,
  toExchanges,
  wireIds,
  wireName,
  type Exchange,
  type ToolMessage,
} from './transcript.ts';

type Body = OpenAI.ChatCompletionCreateParamsStreaming;
type Message = OpenAI.ChatCompletionMessageParam;

export interface OpenAiTarget {
  /** The key in `config.providers`; only its own reasoning is replayed. */
  readonly provider: string;
  /** OpenAI's own API, which wants `max_completion_tokens`; others know `max_tokens`. */
  readonly official: boolean;
}

const CALL_ID = /^[\x21-\x7e]{1,40}$/u;

/** The body of `POST /chat/completions`. The same request always gives the same bytes. */
export function toOpenAiRequest(request: ModelRequest, target: OpenAiTarget): Body {
  const { maxOutputTokens, temperature, reasoning = 'off' } = request;
  const ids = wireIds(request.messages, CALL_ID);
  const system = joinSystem(request.system);
  const exchanges = toExchanges(request.messages, { provider: target.provider, model: request.model });
  return {
    model: request.model,
    ...(request.tools.length === 0 ? {} : { tools: toTools(request) }),
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...exchanges.flatMap((exchange) => toMessages(exchange, ids)),
    ],
    ...(request.tools.length === 0 ? {} : toChoice(request.toolChoice)),
    ...(target.official ? { max_completion_tokens: maxOutputTokens } : { max_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(reasoning === 'off' ? {} : { reasoning_effort: reasoning }),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function toTools(request: ModelRequest): OpenAI.ChatCompletionTool[] {
  return request.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

function toChoice(choice: ToolChoice): Pick<Body, 'tool_choice'> {
  if (choice === 'auto') return {};
  return { tool_choice: choice === 'none' ? 'none' : { type: 'function', function: { name: choice.tool } } };
}

function toMessages({ assistant, results, user }: Exchange, ids: ReadonlyMap<string, string>): Message[] {
  const messages: Message[] = [];
  if (assistant !== null) messages.push(toAssistant(assistant, ids));
  for (const result of results) {
    messages.push({
      role: 'tool',
      tool_call_id: ids.get(result.callId) ?? result.callId,
      content: result.output.trim() === '' ? '(no output)' : result.output,
    });
  }
  const parts = [...results.flatMap(imagesOf), ...user];
  if (parts.length > 0) messages.push({ role: 'user', content: toContent(parts) });
  return messages;
}

const reasoningField = z.object({ field: z.enum(['reasoning_content', 'reasoning']), text: z.string() });

function toAssistant(parts: readonly AssistantPart[], ids: ReadonlyMap<string, string>): Message {
  const texts: string[] = [];
  const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = [];
  const reasoning: Record<string, string> = {};
  for (const part of parts) {
    switch (part.type) {
      case 'text':
        texts.push(part.text);
        break;
      case 'reasoning': {
        const own = reasoningField.safeParse(part.data);
        if (own.success) reasoning[own.data.field] = own.data.text.toWellFormed();
        break;
      }
      case 'tool-call':
        calls.push({
          id: ids.get(part.callId) ?? part.callId,
          type: 'function',
          function: { name: wireName(part.name), arguments: legalArguments(part.arguments) },
        });
        break;
    }
  }
  const content = texts.length === 0 && calls.length === 0 ? EMPTY_ANSWER : texts.join('\n\n');
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    ...reasoning,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** The model's own text where it is a JSON object. */
function legalArguments(text: string): string {
  return Object.keys(argumentsObject(text)).length === 0 ? '{}' : text.toWellFormed();
}

/** This API takes images from the user only. */
function imagesOf({ name, images = [] }: ToolMessage): readonly UserPart[] {
  return images.length === 0 ? [] : [{ type: 'text', text: `Images from ${wireName(name)}:` }, ...images];
}

/** One string as long as it is text: not every compatible server takes a list. */
function toContent(parts: readonly UserPart[]): string | OpenAI.ChatCompletionContentPart[] {
  const content = parts.map(toPart);
  const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === content.length ? texts.join('\n\n') : content;
}

function toPart(part: UserPart): OpenAI.ChatCompletionContentPartText | OpenAI.ChatCompletionContentPartImage {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { mediaType, data } = part;
  if (!isImage(mediaType)) return { type: 'text', text: leftOut(mediaType) };
  return { type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } };
}
