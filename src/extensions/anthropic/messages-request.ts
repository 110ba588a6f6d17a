import type Anthropic from '@anthropic-ai/sdk';
import * as z from 'zod';
import {
  EMPTY_ANSWER,
  argumentsObject,
  outputText,
  perExchange,
  perObject,
  readablePart,
  wireName,
  wireRequest,
  type AssistantPart,
  type Exchange,
  type ModelRequest,
  type ToolChoice,
  type ToolMessage,
  type UserPart,
  type WireRequest,
} from '../../core/api-providers.ts';

type Body = Anthropic.MessageCreateParamsStreaming;
type Block = Anthropic.ContentBlockParam;

export interface AnthropicTarget {
  /** The key in `config.providers`; only its own reasoning is replayed. */
  readonly provider: string;
  /** Anthropic's own API: no sampling parameters, the model decides how much it thinks. */
  readonly official: boolean;
}

const CALL_ID = /^[A-Za-z0-9_-]{1,64}$/u;
const CACHED = { cache_control: { type: 'ephemeral' } } as const;

/** The body of `POST /v1/messages`. The same request always gives the same bytes. */
export function toAnthropicRequest(request: ModelRequest, target: AnthropicTarget): Body {
  const { system, exchanges, idOf } = wireRequest(request, { provider: target.provider, legalId: CALL_ID });
  const messages = exchanges.flatMap((exchange) => turnsOf(exchange, idOf));
  const thinking = thinkingOf(request, messages, target);
  return {
    model: request.model,
    max_tokens: request.maxOutputTokens,
    ...(request.tools.length === 0 ? {} : { tools: toTools(request.tools) }),
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...CACHED }] }),
    messages: withCacheMarks(messages),
    ...(request.tools.length === 0 ? {} : toChoice(request.toolChoice)),
    ...(thinking ?? toSampling(request, target)),
    stream: true,
  };
}

const toTools = perObject((tools: ModelRequest['tools']): Anthropic.Tool[] =>
  tools.map((tool, index) => ({
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.parameters, type: 'object' },
    ...(index === tools.length - 1 ? CACHED : {}),
  })),
);

function toChoice(choice: ToolChoice): Pick<Body, 'tool_choice'> {
  if (choice === 'auto') return {};
  return { tool_choice: choice === 'none' ? { type: 'none' } : { type: 'tool', name: choice.tool } };
}

function toSampling({ temperature }: ModelRequest, target: AnthropicTarget): { temperature?: number } {
  return target.official || temperature === undefined ? {} : { temperature: Math.min(1, temperature) };
}

interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Block[];
}

function toTurns({ assistant, results, user }: Exchange, idOf: WireRequest['idOf']): WireMessage[] {
  const turns: WireMessage[] = [];
  if (assistant !== null) {
    const content = assistant.flatMap((part) => toAssistantBlocks(part, idOf));
    turns.push({ role: 'assistant', content: hasWords(content) ? content : [{ type: 'text', text: EMPTY_ANSWER }] });
  }
  const content: Block[] = [
    ...results.map((result) => toResult(result, idOf)),
    // A failed result may hold text only; its images follow.
    ...results.flatMap((result) => (result.isError ? (result.images ?? []).map(toUserBlock) : [])),
    ...user.map(toUserBlock),
  ];
  if (content.length > 0) turns.push({ role: 'user', content });
  return turns;
}

const turnsOf = perExchange(toTurns);

/** Whether a message has text or calls; one with thinking alone may not be sent again. */
function hasWords(content: readonly Block[]): boolean {
  return content.some((block) => block.type === 'text' || block.type === 'tool_use');
}

const thinkingBlock = z.union([
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) }),
  z.object({ type: z.literal('redacted_thinking'), data: z.string().min(1) }),
]);

function toAssistantBlocks(part: AssistantPart, idOf: WireRequest['idOf']): Block[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }];
  if (part.type === 'tool-call') {
    return [
      { type: 'tool_use', id: idOf(part.callId), name: wireName(part.name), input: argumentsObject(part.arguments) },
    ];
  }
  const block = thinkingBlock.safeParse(part.data);
  return block.success ? [block.data] : [];
}

function toResult(result: ToolMessage, idOf: WireRequest['idOf']): Anthropic.ToolResultBlockParam {
  const images = result.isError ? [] : (result.images ?? []).map(toUserBlock);
  const text = outputText(result);
  return {
    type: 'tool_result',
    tool_use_id: idOf(result.callId),
    content: images.length === 0 ? text : [{ type: 'text', text }, ...images],
    ...(result.isError ? { is_error: true } : {}),
  };
}

function toUserBlock(part: UserPart): Anthropic.TextBlockParam | Anthropic.ImageBlockParam {
  const shown = readablePart(part);
  if (shown.type === 'text') return { type: 'text', text: shown.text };
  return { type: 'image', source: { type: 'base64', media_type: shown.mediaType, data: shown.data } };
}

/**
 * Sets two cache breakpoints: where the previous request ended, which is in the cache, and where this one ends. With tools
 * and system these are the four that the API allows.
 */
function withCacheMarks(messages: readonly WireMessage[]): Anthropic.MessageParam[] {
  const marked = [...messages];
  let left = 2;
  for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
    const message = messages[index];
    if (message?.role !== 'user') continue;
    left -= 1;
    const last = message.content.length - 1;
    const content = message.content.map((block, at) => (at === last ? { ...block, ...CACHED } : block));
    marked[index] = { role: 'user', content };
  }
  return marked;
}

const EFFORT_TOKENS = { low: 2048, medium: 8192, high: 16_384 };

/** Undefined if thinking is off or impossible: a forced tool, too small a budget, a tool round that began without it. */
function thinkingOf(
  { reasoning = 'off', toolChoice, maxOutputTokens }: ModelRequest,
  messages: readonly WireMessage[],
  target: AnthropicTarget,
): Pick<Body, 'thinking' | 'output_config'> | undefined {
  if (reasoning === 'off' || typeof toolChoice === 'object') return undefined;
  if (target.official) {
    return { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: reasoning } };
  }
  const budget = Math.min(EFFORT_TOKENS[reasoning], Math.floor(maxOutputTokens / 2));
  if (budget < 1024 || inRoundWithoutThinking(messages)) return undefined;
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

function inRoundWithoutThinking(messages: readonly WireMessage[]): boolean {
  if (messages.at(-1)?.content[0]?.type !== 'tool_result') return false;
  const lead = messages.at(-2)?.content[0]?.type;
  return lead !== 'thinking' && lead !== 'redacted_thinking';
}
