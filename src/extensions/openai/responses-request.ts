import type { OpenAI } from 'openai';
import * as z from 'zod';
import {
  EMPTY_ANSWER,
  legalArguments,
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

type Body = OpenAI.Responses.ResponseCreateParamsStreaming;
type Item = OpenAI.Responses.ResponseInputItem;
type Content = OpenAI.Responses.ResponseInputText | OpenAI.Responses.ResponseInputImage;

const CALL_ID = /^[\x21-\x7e]{1,64}$/u;

/** The body of `POST /responses`. The same request always gives the same bytes. */
export function toResponsesRequest(request: ModelRequest, provider: string): Body {
  const { maxOutputTokens, temperature, reasoning = 'off' } = request;
  const { system: instructions, exchanges, idOf } = wireRequest(request, { provider, legalId: CALL_ID });
  return {
    model: request.model,
    ...(instructions === '' ? {} : { instructions }),
    ...(request.tools.length === 0 ? {} : { tools: toTools(request.tools), ...toChoice(request.toolChoice) }),
    input: exchanges.flatMap((exchange) => itemsOf(exchange, idOf)),
    // The least that the API accepts.
    max_output_tokens: Math.max(16, maxOutputTokens),
    ...(temperature === undefined ? {} : { temperature }),
    ...(reasoning === 'off' ? {} : { reasoning: { effort: reasoning, summary: 'auto' } }),
    // Nothing is kept at the provider, so its reasoning comes back encrypted and is sent again.
    store: false,
    include: ['reasoning.encrypted_content'],
    stream: true,
  };
}

const toTools = perObject((tools: ModelRequest['tools']): OpenAI.Responses.FunctionTool[] =>
  tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters,
    strict: false,
  })),
);

function toChoice(choice: ToolChoice): Pick<Body, 'tool_choice'> {
  if (choice === 'auto') return {};
  return { tool_choice: choice === 'none' ? 'none' : { type: 'function', name: choice.tool } };
}

function toItems({ assistant, results, user }: Exchange, idOf: WireRequest['idOf']): Item[] {
  return [
    ...(assistant === null ? [] : toAnswer(assistant, idOf)),
    ...results.map((result) => toResult(result, idOf)),
    ...(user.length === 0 ? [] : [{ role: 'user' as const, content: toContent(user) }]),
  ];
}

const reasoningItem = z.object({
  type: z.literal('reasoning'),
  id: z.string().min(1),
  summary: z.array(z.object({ type: z.literal('summary_text'), text: z.string() })),
  encrypted_content: z.string().min(1),
});
const phaseMark = z.object({ type: z.literal('phase'), phase: z.enum(['commentary', 'final_answer']) });

const itemsOf = perExchange(toItems);

/** Reasoning is legal only before the text or call that it led to, so reasoning at the end is left out. */
function toAnswer(parts: readonly AssistantPart[], idOf: WireRequest['idOf']): Item[] {
  const last = parts.findLastIndex((part) => part.type !== 'reasoning');
  const items: Item[] = [];
  let phase: z.infer<typeof phaseMark>['phase'] | undefined;
  for (const part of parts.slice(0, last + 1)) {
    switch (part.type) {
      case 'text':
        items.push({ role: 'assistant', content: part.text, ...(phase === undefined ? {} : { phase }) });
        phase = undefined;
        break;
      case 'tool-call':
        items.push({
          type: 'function_call',
          call_id: idOf(part.callId),
          name: wireName(part.name),
          arguments: legalArguments(part.arguments),
        });
        break;
      case 'reasoning': {
        const item = reasoningItem.safeParse(part.data);
        if (item.success) items.push(item.data);
        phase = phaseMark.safeParse(part.data).data?.phase ?? phase;
        break;
      }
    }
  }
  return items.length > 0 ? items : [{ role: 'assistant', content: EMPTY_ANSWER }];
}

function toResult(result: ToolMessage, idOf: WireRequest['idOf']): Item {
  const text = outputText(result);
  const images = (result.images ?? []).map(toPart);
  return {
    type: 'function_call_output',
    call_id: idOf(result.callId),
    output: images.length === 0 ? text : [{ type: 'input_text', text }, ...images],
  };
}

function toContent(parts: readonly UserPart[]): string | Content[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n\n') : parts.map(toPart);
}

function toPart(part: UserPart): Content {
  const shown = readablePart(part);
  if (shown.type === 'text') return { type: 'input_text', text: shown.text };
  return { type: 'input_image', detail: 'auto', image_url: `data:${shown.mediaType};base64,${shown.data}` };
}
