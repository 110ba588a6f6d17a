import * as z from 'zod';
import type { ModelError, ModelMessage, ModelRequest, ModelResponse } from '../../providers/provider.ts';
import { parseArguments } from '../../tools/registry/arguments.ts';
import { toJsonSchema } from '../../tools/registry/schema.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';
import type { ChosenModel } from '../turn/current-turn.ts';
import { stripReasoning } from '../turn/strip-reasoning.ts';

export interface StructuredQuestion<Schema extends z.ZodObject> {
  readonly model: ChosenModel;
  readonly system: readonly string[];
  /** Ends with a user message. */
  readonly messages: readonly ModelMessage[];
  readonly schema: Schema;
  /** Of the tool that the model answers with. */
  readonly name: string;
  readonly description: string;
  /** Reads an answer in plain text, for models that do not call the tool; undefined when it makes no sense. */
  readonly fallback: (text: string) => z.output<Schema> | undefined;
  /** @default 2048 */
  readonly maxOutputTokens?: number;
}

export interface StructuredPorts {
  readonly choices: ToolChoices;
  readonly signal: AbortSignal;
}

export type StructuredAnswer<T> =
  | { readonly ok: true; readonly value: T; readonly usage: Usage }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Of the model's error; undefined when its answers did not fit. */
      readonly kind?: ModelError['kind'];
      /** It only has fixed sentences, so that asking again changes nothing. @default false */
      readonly scripted?: boolean;
      readonly usage: Usage;
    };

/** How a model can be asked, best first: a forced call of the tool, a free one, no tool at all. */
const RUNGS = ['forced', 'free', 'plain'] as const;
type Rung = (typeof RUNGS)[number];

/** Where to begin with each model: what was found out, for the newest 200 of them. */
export class ToolChoices {
  static readonly #most = 200;
  readonly #best = new Map<string, Rung>();

  best(model: ChosenModel): Rung {
    return this.#best.get(keyOf(model)) ?? 'forced';
  }

  learn(model: ChosenModel, rung: Rung): void {
    this.#best.delete(keyOf(model));
    this.#best.set(keyOf(model), rung);
    const oldest = this.#best.size > ToolChoices.#most ? this.#best.keys().next().value : undefined;
    if (oldest !== undefined) this.#best.delete(oldest);
  }
}

const MAX_OUTPUT_TOKENS = 2048;
/** What servers say that know no forced choice or no tools, where their error has another kind. */
const REFUSES_TOOLS = /tool_choice|toolchoice|tool choice|does not support|should be \["none", ?"auto"\]|thinking/iu;

/**
 * Asks a model for a value of a shape: with a forced tool call, where the model refuses that with a free choice, and
 * where it takes no tools, or does not call, from its plain text. An answer that does not fit is sent back once with the problem named.
 * Never throws.
 */
export async function askStructured<Schema extends z.ZodObject>(
  question: StructuredQuestion<Schema>,
  ports: StructuredPorts,
): Promise<StructuredAnswer<z.output<Schema>>> {
  let usage = noUsage;
  let messages = question.messages;
  let reason = '';
  for (let tries = 0; tries < 2; tries += 1) {
    const outcome = await climb(question, messages, ports);
    if ('kind' in outcome) return { ok: false, reason: outcome.message, kind: outcome.kind, usage };
    usage = addUsage(usage, outcome.usage ?? noUsage);
    if (outcome.scripted === true) {
      return { ok: false, reason: 'The demo is no model and cannot do this.', scripted: true, usage };
    }
    const read = readAnswer(outcome, question);
    if ('value' in read) return { ok: true, value: read.value, usage };
    reason = read.problem;
    messages = [
      ...question.messages,
      ...said(outcome, `${question.name}.${tries}`),
      complaint(outcome, read.problem, question, tries),
    ];
  }
  return { ok: false, reason, usage };
}

/** Asks in the best way the model takes, and remembers which one that was. */
async function climb<Schema extends z.ZodObject>(
  question: StructuredQuestion<Schema>,
  messages: readonly ModelMessage[],
  { choices, signal }: StructuredPorts,
): Promise<ModelResponse | ModelError> {
  const { model } = question;
  const rungs = RUNGS.slice(RUNGS.indexOf(choices.best(model)));
  for (const rung of rungs) {
    const outcome = await ask(requestOf(question, messages, rung), model, signal);
    if ('kind' in outcome && rung !== 'plain' && refusesTools(outcome)) continue;
    if (!('kind' in outcome) && rung !== rungs[0]) choices.learn(model, rung);
    return outcome;
  }
  throw new Error('unreachable: the last rung always returns');
}

function refusesTools(error: ModelError): boolean {
  if (error.kind === 'unsupported-tool-choice') return true;
  return error.kind === 'bad-request' && REFUSES_TOOLS.test(error.message);
}

function requestOf<Schema extends z.ZodObject>(
  { model, system, schema, name, description, maxOutputTokens = MAX_OUTPUT_TOKENS }: StructuredQuestion<Schema>,
  messages: readonly ModelMessage[],
  rung: Rung,
): ModelRequest {
  return {
    model: model.model,
    system,
    messages,
    tools: rung === 'plain' ? [] : [{ name, description, parameters: toJsonSchema(schema) }],
    toolChoice: rung === 'forced' ? { tool: name } : 'auto',
    maxOutputTokens,
    reasoning: 'off',
  };
}

async function ask(
  request: ModelRequest,
  { provider }: ChosenModel,
  signal: AbortSignal,
): Promise<ModelResponse | ModelError> {
  for await (const event of provider.chat(request, { signal })) {
    if (event.type === 'end') return event.response;
    if (event.type === 'error') return event;
  }
  const message = `${provider.name} ended its answer without saying so.`;
  return { type: 'error', kind: 'malformed', retryable: true, message };
}

function readAnswer<Schema extends z.ZodObject>(
  { content }: ModelResponse,
  { schema, name, fallback }: StructuredQuestion<Schema>,
): { readonly value: z.output<Schema> } | { readonly problem: string } {
  const call = content.find((part) => part.type === 'tool-call' && part.name === name);
  if (call?.type === 'tool-call') {
    const parsed = parseArguments(schema, call.arguments);
    if (!parsed.ok) return { problem: parsed.problem };
    const checked = schema.safeParse(parsed.params);
    if (checked.success) return { value: checked.data };
    return { problem: z.prettifyError(checked.error) };
  }
  const text = stripReasoning(textIn(content)).trim();
  const value = text === '' ? undefined : fallback(text);
  return value === undefined ? { problem: `the tool ${name} was not called` } : { value };
}

function textIn(content: ModelResponse['content']): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** What the model said, as it is sent back with the complaint. */
function said({ content }: ModelResponse, callId: string): readonly ModelMessage[] {
  const calls = content.filter((part) => part.type === 'tool-call').slice(0, 1);
  const text = textIn(content);
  if (text.trim() === '' && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: [
        ...(text.trim() === '' ? [] : [{ type: 'text' as const, text }]),
        ...calls.map((call) => ({
          type: 'tool-call' as const,
          callId,
          providerCallId: call.id,
          name: call.name,
          arguments: call.arguments,
        })),
      ],
    },
  ];
}

function complaint<Schema extends z.ZodObject>(
  { content }: ModelResponse,
  problem: string,
  { name }: StructuredQuestion<Schema>,
  tries: number,
): ModelMessage {
  const text = `Your answer cannot be used: ${problem.replace(/\.$/u, '')}. Answer once more by calling the tool ${name}; where you have no such tool, write the answer as plain text.`;
  const call = content.find((part) => part.type === 'tool-call');
  if (call?.type !== 'tool-call') return { role: 'user', content: [{ type: 'text', text }] };
  return { role: 'tool', callId: `${name}.${tries}`, name: call.name, output: text, isError: true };
}

function keyOf({ providerName, model }: ChosenModel): string {
  return `${providerName}/${model}`;
}
