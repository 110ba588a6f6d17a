import * as z from 'zod';
import {
  argumentsObject,
  type AssistantPart,
  EMPTY_ANSWER,
  type Exchange,
  type ModelRequest,
  outputText,
  perExchange,
  readablePart,
  systemMessage,
  type ToolMessage,
  type UserPart,
  wireName,
  wireRequest,
  type WireRequest,
} from '../../core/api-providers.ts';
import { ollamaWindow, type OllamaModel } from './model.ts';

/** The body of `POST /api/chat`. */
export interface OllamaBody {
  readonly model: string;
  readonly tools?: readonly unknown[];
  readonly messages: readonly OllamaMessage[];
  /** Left out for a model that cannot think: Ollama refuses the field then. */
  readonly think?: boolean | string;
  readonly stream: true;
  /** A prompt longer than the window is an error. By default Ollama drops its oldest messages without a word. */
  readonly truncate: false;
  /** An answer ends where the window is full. By default Ollama forgets the beginning of the prompt and goes on. */
  readonly shift: false;
  readonly options: Readonly<Record<string, unknown>>;
}

interface OllamaMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  /** What the model thought before this answer. */
  readonly thinking?: string;
  /** Base64. */
  readonly images?: readonly string[];
  readonly tool_calls?: readonly unknown[];
  readonly tool_name?: string;
  readonly tool_call_id?: string;
}

export interface OllamaTarget {
  /** The key in `config.providers`; only its own reasoning is replayed. */
  readonly provider: string;
  /** What the server says of the model. */
  readonly model: OllamaModel;
  /** Tokens of context, as configured; null: not configured. */
  readonly window: number | null;
}

const CALL_ID = /^[\x21-\x7e]{1,64}$/u;

/** The body of `POST /api/chat`. The same request for the same model always gives the same bytes. */
export function toOllamaRequest(request: ModelRequest, { provider, model, window }: OllamaTarget): OllamaBody {
  const { system, exchanges, idOf } = wireRequest(request, { provider, legalId: CALL_ID });
  const offersTools = request.tools.length > 0 && request.toolChoice !== 'none' && takesTools(model);
  const think = toThink(request.reasoning ?? 'off', model);
  const { temperature } = request;
  return {
    model: request.model,
    ...(offersTools ? { tools: toTools(request) } : {}),
    messages: [
      ...(system === '' ? [] : [systemMessage.system(request.system)]),
      ...exchanges.flatMap((exchange) => messagesOf(exchange, idOf)),
    ],
    ...(think === undefined ? {} : { think }),
    stream: true,
    truncate: false,
    shift: false,
    options: {
      num_ctx: ollamaWindow(model, window),
      num_predict: request.maxOutputTokens,
      ...(temperature === undefined ? {} : { temperature }),
    },
  };
}

/** Whether a model can call tools; true where the server does not say. */
export function takesTools({ capabilities }: OllamaModel): boolean {
  return capabilities === null || capabilities.has('tools');
}

/** Off is said too: models that can think do so by default. A level that the model does not know is plain `true`. */
function toThink(
  reasoning: NonNullable<ModelRequest['reasoning']>,
  { capabilities, thinkValues }: OllamaModel,
): boolean | string | undefined {
  if (capabilities?.has('thinking') !== true) return undefined;
  if (reasoning === 'off') return thinkValues === null || thinkValues.includes(false) ? false : undefined;
  return thinkValues?.includes(reasoning) === true ? reasoning : true;
}

function toTools({ tools }: ModelRequest): readonly unknown[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

function toMessages({ assistant, results, user }: Exchange, idOf: WireRequest['idOf']): OllamaMessage[] {
  const parts = [...results.flatMap(imagesOf), ...user];
  return [
    ...(assistant === null ? [] : [toAssistant(assistant, idOf)]),
    ...results.map((result): OllamaMessage => ({
      role: 'tool',
      content: outputText(result),
      tool_name: wireName(result.name),
      tool_call_id: idOf(result.callId),
    })),
    ...(parts.length === 0 ? [] : [toUser(parts)]),
  ];
}

const messagesOf = perExchange(toMessages);

const ownThought = z.object({ thinking: z.string() });

function toAssistant(parts: readonly AssistantPart[], idOf: WireRequest['idOf']): OllamaMessage {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: unknown[] = [];
  for (const part of parts) {
    switch (part.type) {
      case 'text':
        texts.push(part.text);
        break;
      case 'reasoning': {
        const own = ownThought.safeParse(part.data);
        if (own.success) thoughts.push(own.data.thinking.toWellFormed());
        break;
      }
      case 'tool-call':
        calls.push({
          id: idOf(part.callId),
          function: { name: wireName(part.name), arguments: argumentsObject(part.arguments) },
        });
        break;
    }
  }
  return {
    role: 'assistant',
    content: texts.length === 0 && calls.length === 0 ? EMPTY_ANSWER : texts.join('\n\n'),
    ...(thoughts.length === 0 ? {} : { thinking: thoughts.join('\n\n') }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Ollama takes images from the user only. */
function imagesOf({ name, images = [] }: ToolMessage): readonly UserPart[] {
  return images.length === 0 ? [] : [{ type: 'text', text: `Images from ${wireName(name)}:` }, ...images];
}

function toUser(parts: readonly UserPart[]): OllamaMessage {
  const shown = parts.map(readablePart);
  const texts = shown.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const images = shown.flatMap((part) => (part.type === 'image' ? [part.data] : []));
  return { role: 'user', content: texts.join('\n\n'), ...(images.length === 0 ? {} : { images }) };
}
