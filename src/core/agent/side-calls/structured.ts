import * as z from 'zod';
import { refusesContent, type RefusesContent } from '../../providers/content-refusals.ts';
import type { ModelError, ModelMessage, ModelRequest, ModelResponse } from '../../providers/provider.ts';
import { parseArguments } from '../../tools/registry/arguments.ts';
import { toJsonSchema } from '../../tools/json-schema.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';
import type { ChosenModel } from '../turn/current-turn.ts';
import { withoutFence } from '../../util/text.ts';
import { askOnce } from './ask-once.ts';
import { stripReasoning } from '../turn/strip-reasoning.ts';

export interface StructuredQuestion<Schema extends z.ZodObject> {
  readonly model: ChosenModel;
  readonly system: readonly string[];
  /** The last one is a user message. */
  readonly messages: readonly ModelMessage[];
  readonly schema: Schema;
  /** Name and description of the tool that the model answers with. */
  readonly name: string;
  readonly description: string;
  /** Reads an answer in plain text, for models that do not call the tool; undefined when it cannot. */
  readonly fallback: (text: string) => z.output<Schema> | undefined;
  /** `fallback` takes nearly any text. Chat may pass too, so text is asked for again before it is taken. @default false */
  readonly takesAnyText?: boolean;
  /** @default 2048 */
  readonly maxOutputTokens?: number;
}

export type StructuredAnswer<T> =
  | { readonly ok: true; readonly value: T; readonly usage: Usage }
  | {
      readonly ok: false;
      /** A sentence for a person. */
      readonly reason: string;
      /** What was wrong with the answers, for the log; undefined after an error of the model. */
      readonly problem?: string;
      /** Kind of the model's error; undefined when its answers did not match the schema. */
      readonly kind?: ModelError['kind'];
      /** Whether the provider refused the content of the question. @default 'no' */
      readonly refuses?: RefusesContent;
      /** The model is the demo, which only has fixed sentences: asking again changes nothing. @default false */
      readonly scripted?: boolean;
      readonly usage: Usage;
    };

/** The ways to ask, best first: with a forced tool call, with a free choice, without tools. */
const METHODS = ['forced', 'free', 'plain'] as const;
type Method = (typeof METHODS)[number];

/** Remembers which way to ask worked for each model, for the last 200 models. */
export class ToolChoices {
  static readonly #most = 200;
  readonly #best = new Map<string, Method>();

  best(model: ChosenModel): Method {
    return this.#best.get(keyOf(model)) ?? 'forced';
  }

  learn(model: ChosenModel, method: Method): void {
    this.#best.delete(keyOf(model));
    this.#best.set(keyOf(model), method);
    const oldest = this.#best.size > ToolChoices.#most ? this.#best.keys().next().value : undefined;
    if (oldest !== undefined) this.#best.delete(oldest);
  }
}

const MAX_OUTPUT_TOKENS = 2048;
const WITHOUT_TOOLS = 'You have no tools here: write what you would give the tool as plain text, and nothing else.';
/** Matches errors of servers that support no forced choice or no tools but report another kind of error. */
const REFUSES_TOOLS = /tool_choice|toolchoice|tool choice|does not support|should be \["none", ?"auto"\]|thinking/iu;

/**
 * Asks a model for a value that matches a schema: with a forced tool call; if the model refuses that, with a free
 * choice; if it supports no tools, by its plain text. An answer that doesn't match is sent back once with the problem,
 * and with `takesAnyText` so is text from a model that could have called the tool.
 */
export async function askStructured<Schema extends z.ZodObject>(
  question: StructuredQuestion<Schema>,
  asking: { readonly choices: ToolChoices; readonly signal: AbortSignal },
): Promise<StructuredAnswer<z.output<Schema>>> {
  let usage = noUsage;
  let messages = question.messages;
  let problem = '';
  let longest = '';
  for (let tries = 0; tries < 2; tries += 1) {
    const { outcome, usage: used } = await askBestWay(question, messages, { ...asking, isAgain: tries > 0 });
    usage = addUsage(usage, used);
    if ('kind' in outcome)
      return { ok: false, reason: outcome.message, kind: outcome.kind, refuses: refusesContent(outcome), usage };
    if (outcome.scripted === true) {
      return { ok: false, reason: 'The demo is not a model and cannot do this.', scripted: true, usage };
    }
    const mayBeChat = question.takesAnyText === true && tries === 0 && asking.choices.best(question.model) !== 'plain';
    const text = stripReasoning(textIn(outcome.content)).trim();
    // Asked again, a model may only comment on its first text, which was the answer then.
    if (text.length > longest.length && question.fallback(text) !== undefined) longest = text;
    const read = readAnswer(outcome, question, mayBeChat ? '' : question.takesAnyText === true ? longest : text);
    if ('value' in read) return { ok: true, value: read.value, usage };
    problem = read.problem;
    messages = [
      ...question.messages,
      ...said(outcome, `${question.name}.${tries}`),
      complaint(outcome, problem, question, tries),
    ];
  }
  return { ok: false, reason: `${keyOf(question.model)} gave no usable answer.`, problem, usage };
}

/** Asks in the best way that the model supports, and remembers it. */
async function askBestWay<Schema extends z.ZodObject>(
  question: StructuredQuestion<Schema>,
  messages: readonly ModelMessage[],
  {
    choices,
    signal,
    isAgain,
  }: { readonly choices: ToolChoices; readonly signal: AbortSignal; readonly isAgain: boolean },
): Promise<{ readonly outcome: ModelResponse | ModelError; readonly usage: Usage }> {
  const { model } = question;
  let usage = noUsage;
  const best = choices.best(model);
  // Some servers silently read a forced choice as a free one, others fail at it in other ways.
  const methods = METHODS.slice(METHODS.indexOf(isAgain && best === 'forced' ? 'free' : best));
  for (const method of methods) {
    const asked = await askOnce(model.provider, requestOf(question, messages, method), signal);
    const outcome = asked.outcome.type === 'end' ? asked.outcome.response : asked.outcome;
    usage = addUsage(usage, asked.usage);
    if ('kind' in outcome && method !== 'plain' && refusesTools(outcome)) continue;
    if (!('kind' in outcome) && method !== methods[0]) choices.learn(model, method);
    return { outcome, usage };
  }
  throw new Error('unreachable: the last method always returns');
}

function refusesTools(error: ModelError): boolean {
  if (error.kind === 'unsupported-tool-choice') return true;
  return error.kind === 'bad-request' && REFUSES_TOOLS.test(error.message);
}

function requestOf<Schema extends z.ZodObject>(
  { model, system, schema, name, description, maxOutputTokens = MAX_OUTPUT_TOKENS }: StructuredQuestion<Schema>,
  messages: readonly ModelMessage[],
  method: Method,
): ModelRequest {
  return {
    model: model.model,
    system: method === 'plain' ? [...system, WITHOUT_TOOLS] : system,
    messages,
    tools: method === 'plain' ? [] : [{ name, description, parameters: toJsonSchema(schema) }],
    toolChoice: method === 'forced' ? { tool: name } : 'auto',
    maxOutputTokens,
    reasoning: 'off',
  };
}

function readAnswer<Schema extends z.ZodObject>(
  { content }: ModelResponse,
  { schema, name, fallback }: StructuredQuestion<Schema>,
  fallbackText: string,
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
  const written = writtenCall(text);
  const typed = written === undefined ? undefined : schema.safeParse(written);
  if (typed?.success === true) return { value: typed.data };
  const value = fallbackText === '' ? undefined : fallback(fallbackText);
  return value === undefined ? { problem: `the tool ${name} was not called` } : { value };
}

/** The arguments of a call that a model wrote as text, e.g. `{"name": "save_memory", "arguments": {…}}`. */
function writtenCall(text: string): unknown {
  const json = withoutFence(text);
  if (!json.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(json);
    const call = WRITTEN_CALL.safeParse(parsed);
    return call.success ? (call.data.arguments ?? call.data.parameters ?? parsed) : parsed;
  } catch {
    return undefined;
  }
}

const WRITTEN_CALL = z.object({
  arguments: z.record(z.string(), z.unknown()).optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
});

function textIn(content: ModelResponse['content']): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The model's answer as it is sent back with the problem. */
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
