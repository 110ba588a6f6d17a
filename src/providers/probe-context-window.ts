import { createHash } from 'node:crypto';
import * as z from 'zod';
import { deadline, type Clock } from '../util/clock.ts';
import { rootOf } from './presets.ts';
import type { Vendors } from './vendor.ts';

/** What a server is asked for the context window of a model with. */
export interface WindowQuestion {
  /** Its address, with or without the `/v1` of its OpenAI-compatible API. */
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** Sent with each question. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Is told what the server says of itself, if it says anything. */
  readonly onServer?: (facts: ServerFacts) => void;
  readonly clock: Clock;
  /** How long the server has for its answer, ms. @default 2000: a conversation waits for it */
  readonly deadlineMs?: number;
}

export interface ServerFacts {
  /** Tells this server and model from others, and from itself with other settings. */
  readonly id: string;
  /** Its template knows tools. */
  readonly hasTools: boolean;
}

const DEADLINE_MS = 2_000;

/**
 * Asks a server with OpenAI's API how many tokens a model reads: how many it is loaded with, else how many it could be. Null
 * when the server does not say so in time. Never throws.
 */
export async function askContextWindow(question: WindowQuestion, vendors: Vendors): Promise<number | null> {
  using limit = deadline(question.clock, question.deadlineMs ?? DEADLINE_MS, 'asking for the context window');
  const { model, baseUrl } = question;
  const root = rootOf(baseUrl);
  const { get, tell } = questionsTo(question, limit.signal);
  const places = [
    `${baseUrl.replace(/\/+$/u, '')}/models`,
    `${root}/api/v0/models`,
    `${root}/props`,
    `${root}/version`,
  ];
  const [[list, own, props, version], running] = await Promise.all([
    Promise.all(places.map((place) => get(place))),
    // A server with an API of its own may speak OpenAI's too, whose list says nothing of windows.
    Promise.all(Object.values(vendors).map(async ({ loadedWindow: ask }) => await ask?.(question))),
  ]);
  const rows = [list, own].flatMap((answer) => listedRow(answer, model));
  tell({ id: serverIn(rows, props, version), hasTools: hasTools(props) });
  const loaded = [...rows.map(loadedWindow), propsWindow(props), ...running];
  return loaded.find((tokens) => tokens != null) ?? largestWindow(rows);
}

/** How a server is asked, and how it is told of itself: nothing where it left something out, as a busy one does. */
export function questionsTo(
  question: WindowQuestion,
  signal: AbortSignal,
): {
  readonly get: (address: string, body?: unknown) => Promise<unknown>;
  readonly tell: (facts: ServerFacts) => void;
} {
  let isWhole = true;
  return {
    get: async (address, body) => {
      const answer = await getJson(question, signal, address, body);
      if (answer === SILENT) isWhole = false;
      return answer === SILENT ? undefined : answer;
    },
    tell: (facts) => {
      if (isWhole && facts.id !== '') question.onServer?.(facts);
    },
  };
}

/** The server had no answer now, which says nothing of what it has. */
const SILENT = Symbol('no answer');

/** Undefined for what the server doesn't have or that isn't JSON. Never throws. */
async function getJson(
  { apiKey, headers: own = {} }: Pick<WindowQuestion, 'apiKey' | 'headers'>,
  signal: AbortSignal,
  address: string,
  body?: unknown,
): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    ...own,
  };
  try {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(address, { ...init, headers, signal });
    if (response.status >= 500) return SILENT;
    return response.ok ? await response.json() : undefined;
  } catch (error) {
    return error instanceof SyntaxError ? undefined : SILENT;
  }
}

const tokens = z.int().positive();

/** A model in a list. vLLM, SGLang and others say how many tokens it is served with, LM Studio how many it was loaded with. */
const listed = z.looseObject({
  id: z.string(),
  loaded_context_length: tokens.nullish().catch(null),
  max_model_len: tokens.nullish().catch(null),
  max_context_length: tokens.nullish().catch(null),
  context_length: tokens.nullish().catch(null),
  context_window: tokens.nullish().catch(null),
  /** llama.cpp: the window that it was started with. */
  root: z.string().nullish().catch(null),
  meta: z.looseObject({ n_ctx: tokens.optional() }).nullish().catch(null),
});
type Listed = z.output<typeof listed>;

/** The model's own row; the only one of a server that has a single model, no matter which one it is asked for. */
function listedRow(answer: unknown, model: string): readonly Listed[] {
  // Some servers answer with the bare list.
  const { data } = z.union([z.array(z.unknown()), z.object({ data: z.array(z.unknown()) })]).safeParse(answer);
  const rows = (Array.isArray(data) ? data : (data?.data ?? [])).flatMap((row) => listed.safeParse(row).data ?? []);
  const found = rows.find(({ id }) => id === model) ?? (rows.length === 1 ? rows[0] : undefined);
  return found === undefined ? [] : [found];
}

function loadedWindow(row: Listed): number | undefined {
  return row.loaded_context_length ?? row.max_model_len ?? row.meta?.n_ctx ?? undefined;
}

/** What tells one server and model from others: its version, the model's file and template, the window that it was loaded with. */
function serverIn(rows: readonly Listed[], props: unknown, version: unknown): string {
  const text = z.string().optional().catch(undefined);
  const {
    build_info: build,
    model_path: path,
    chat_template: template,
  } = z.object({ build_info: text, model_path: text, chat_template: text }).catch({}).parse(props);
  const of = rows.map((row) => [row.meta, row.root, loadedWindow(row)]);
  return serverId([build, path, template, propsWindow(props), versionIn(version), ...of.flat()]);
}

/** A name of a server by what it told of itself; '' if that is nothing. */
export function serverId(facts: readonly unknown[]): string {
  const told = facts.filter((fact) => fact !== undefined && fact !== null);
  return told.length === 0 ? '' : createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 16);
}

/** What vLLM and Ollama say of themselves. */
export function versionIn(answer: unknown): string | undefined {
  return z.object({ version: z.string() }).safeParse(answer).data?.version;
}

/** llama.cpp says so of the model's template; it answers all the same, without the tools. */
function hasTools(props: unknown): boolean {
  const caps = z.looseObject({ chat_template_caps: z.looseObject({ supports_tools: z.boolean() }) });
  return caps.safeParse(props).data?.chat_template_caps.supports_tools !== false;
}

/** What llama.cpp says of one slot. */
function propsWindow(answer: unknown): number | undefined {
  const props = z.looseObject({ default_generation_settings: z.looseObject({ n_ctx: tokens }) });
  return props.safeParse(answer).data?.default_generation_settings.n_ctx;
}

function largestWindow(rows: readonly Listed[]): number | null {
  for (const { max_context_length: most, context_length: length, context_window: window } of rows) {
    const found = most ?? length ?? window;
    if (found != null) return found;
  }
  return null;
}
