import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import type { AskedWindow, Vendors } from './vendor.ts';

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

/** Tokens of context of a model by its vendor's wire; null: its server is not asked, or does not say. Never throws. */
export async function askContextWindow(vendors: Vendors, api: string, asked: AskedWindow): Promise<number | null> {
  const elsewhere = async (): Promise<number | null> => {
    const loaded = await Promise.all(Object.values(vendors).map(async ({ loadedWindow: ask }) => await ask?.(asked)));
    return loaded.find((tokens) => tokens != null) ?? null;
  };
  return (await vendors[api]?.window?.(asked, elsewhere)) ?? null;
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

/** A name of a server by what it told of itself; '' if that is nothing. */
export function serverId(facts: readonly unknown[]): string {
  const told = facts.filter((fact) => fact !== undefined && fact !== null);
  return told.length === 0 ? '' : createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 16);
}

/** What vLLM and Ollama say of themselves. */
export function versionIn(answer: unknown): string | undefined {
  return z.object({ version: z.string() }).safeParse(answer).data?.version;
}
