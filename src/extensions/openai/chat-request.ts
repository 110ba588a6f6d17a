import type OpenAI from 'openai';
import * as z from 'zod';
import {
  EMPTY_ANSWER,
  legalArguments,
  outputText,
  perExchange,
  perObject,
  readablePart,
  systemMessage,
  wireName,
  wireRequest,
  type AssistantPart,
  type Exchange,
  type ModelRequest,
  type Quirks,
  type ToolMessage,
  type UserPart,
  type WireRequest,
} from '../../core/api-providers.ts';

type Body = OpenAI.ChatCompletionCreateParamsStreaming;
type Message = OpenAI.ChatCompletionMessageParam;

export interface OpenAiTarget {
  /** The key in `config.providers`; only its own reasoning is replayed. */
  readonly provider: string;
  readonly quirks: Quirks;
}

/** The body of `POST /chat/completions`. The same request always gives the same bytes. */
export function toOpenAiRequest(request: ModelRequest, target: OpenAiTarget): Body {
  const { maxOutputTokens, temperature } = request;
  const { provider, quirks } = target;
  const { system, exchanges, idOf } = wireRequest(request, { provider, legalId: quirks.callId });
  return {
    model: request.model,
    ...(request.tools.length === 0 ? {} : { tools: toTools(request.tools) }),
    messages: [
      ...(system === '' ? [] : [systemMessage[quirks.systemRole](request.system)]),
      ...distinct(exchanges.flatMap((exchange) => messagesFor(quirks)(exchange, idOf))),
    ],
    ...(request.tools.length === 0 ? {} : toChoice(request, quirks)),
    [quirks.maxTokens]: maxOutputTokens,
    ...(temperature === undefined ? {} : { temperature }),
    ...toReasoning(request.reasoning ?? 'off', quirks),
    stream: true,
    ...(quirks.streamUsage ? { stream_options: { include_usage: true } } : {}),
    ...quirks.body,
  };
}

type Reasoning = NonNullable<ModelRequest['reasoning']>;

/** Switches are turned off too: where there is one, thinking is on by default. */
function toReasoning(reasoning: Reasoning, { reasoning: way }: Quirks): Record<string, unknown> {
  const on = reasoning !== 'off';
  switch (way) {
    case 'effort':
      return on ? { reasoning_effort: reasoning } : {};
    case 'openrouter':
      return on ? { reasoning: { effort: reasoning } } : {};
    case 'thinking':
      return { thinking: { type: on ? 'enabled' : 'disabled' } };
    case 'enable-thinking':
      return { enable_thinking: on };
    case 'none':
      return {};
  }
}

const toTools = perObject((tools: ModelRequest['tools']): OpenAI.ChatCompletionTool[] =>
  tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  })),
);

/** With a single tool `required` means the same as its name, and is understood by servers that take a name for `auto`. */
function toChoice(
  { toolChoice: choice, tools }: Pick<ModelRequest, 'toolChoice' | 'tools'>,
  { choiceNone }: Quirks,
): Pick<Body, 'tool_choice'> {
  if (choice === 'auto' || (choice === 'none' && !choiceNone)) return {};
  if (choice === 'none') return { tool_choice: 'none' };
  return { tool_choice: tools.length === 1 ? 'required' : { type: 'function', function: { name: choice.tool } } };
}

const byQuirks = new WeakMap<Quirks, ReturnType<typeof perExchange<readonly Message[]>>>();

/** What a server with these quirks gets of an exchange. */
function messagesFor(quirks: Quirks): (exchange: Exchange, idOf: WireRequest['idOf']) => readonly Message[] {
  const known = byQuirks.get(quirks) ?? perExchange((exchange, idOf) => toMessages(exchange, { idOf, quirks }));
  byQuirks.set(quirks, known);
  return known;
}

function toMessages(
  { assistant, results, user }: Exchange,
  { idOf, quirks }: Pick<WireRequest, 'idOf'> & { readonly quirks: Quirks },
): Message[] {
  const messages: Message[] = [];
  if (assistant !== null) messages.push(toAssistant(assistant, idOf));
  for (const result of results) {
    messages.push({
      role: 'tool',
      tool_call_id: idOf(result.callId),
      content: outputText(result),
    });
  }
  const parts = [...results.flatMap(imagesOf), ...user];
  if (quirks.answerAfterTools && results.length > 0 && parts.length > 0) {
    messages.push({ role: 'assistant', content: EMPTY_ANSWER });
  }
  if (parts.length > 0) messages.push({ role: 'user', content: toContent(parts) });
  return messages;
}

/**
 * Ends a user message that repeats an earlier one with a line feed. Templates of Mistral show all tools in front of the last
 * user message, which they find by its text.
 */
function distinct(messages: readonly Message[]): Message[] {
  const seen = new Set<string>();
  return messages.map((message) => {
    if (message.role !== 'user' || typeof message.content !== 'string') return message;
    let { content } = message;
    while (seen.has(content)) content += '\n';
    seen.add(content);
    return content === message.content ? message : { ...message, content };
  });
}

const reasoningField = z.object({
  field: z.enum(['reasoning_content', 'reasoning']).optional(),
  text: z.string(),
  /** What came with each call of the answer and must go back with it, by the call's index. */
  extras: z.record(z.string(), z.unknown()).optional(),
});

function toAssistant(parts: readonly AssistantPart[], idOf: WireRequest['idOf']): Message {
  const texts: string[] = [];
  const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = [];
  const reasoning: Record<string, string> = {};
  let extras: Readonly<Record<string, unknown>> = {};
  let begin = 0;
  for (const part of parts) {
    switch (part.type) {
      case 'text':
        texts.push(part.text);
        break;
      case 'reasoning': {
        const own = reasoningField.safeParse(part.data);
        if (!own.success) break;
        if (own.data.field !== undefined) reasoning[own.data.field] = own.data.text.toWellFormed();
        extras = own.data.extras ?? {};
        begin = calls.length;
        break;
      }
      case 'tool-call': {
        const extra = extras[calls.length - begin];
        calls.push({
          id: idOf(part.callId),
          type: 'function',
          function: { name: wireName(part.name), arguments: legalArguments(part.arguments) },
          ...(extra === undefined ? {} : { extra_content: extra }),
        });
        break;
      }
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
  const shown = readablePart(part);
  if (shown.type === 'text') return { type: 'text', text: shown.text };
  return { type: 'image_url', image_url: { url: `data:${shown.mediaType};base64,${shown.data}` } };
}
