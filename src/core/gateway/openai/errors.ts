import type * as z from 'zod';
import type { TurnRecord } from './backend.ts';

/** The body of an error in the shape of OpenAI's API. */
export interface OpenAiError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

/** A request that is not answered, and the status and words that say why. */
export class ApiError extends Error {
  readonly status: 400 | 401 | 404 | 409 | 413 | 415 | 429 | 500 | 502 | 503;
  readonly code: string | null;
  readonly param: string | null;

  constructor(
    status: ApiError['status'],
    message: string,
    facts: { readonly code?: string | null; readonly param?: string | null } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = facts.code ?? null;
    this.param = facts.param ?? null;
  }
}

/** The body of an error: of an `ApiError` its own words, of anything else none of its words. */
export function errorBody(error: unknown): OpenAiError {
  if (!(error instanceof ApiError)) return openAiError(500, 'The request failed; the log says why.');
  return openAiError(error.status, error.message, error);
}

/** The body of an error with this status. */
export function openAiError(
  status: number,
  message: string,
  { code = null, param = null }: { readonly code?: string | null; readonly param?: string | null } = {},
): OpenAiError {
  return { error: { message, type: typeOf(status), param, code } };
}

/** Why a turn gave no answer, as an error; undefined when it gave one. */
export function failureOf({ outcome, reason }: TurnRecord): ApiError | undefined {
  if (outcome === 'answered') return undefined;
  if (outcome === 'stopped') return new ApiError(409, 'The turn was stopped.', { code: 'stopped' });
  return new ApiError(502, reason, { code: 'turn_failed' });
}

/** Parses what a request holds. Throws an `ApiError` that names the first thing that is wrong. */
export function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const param = issue?.path.join('.') ?? '';
  const what = `${issue?.message ?? 'it is not valid'}.`;
  if (param === '') throw new ApiError(400, `The body does not fit: ${what}`);
  throw new ApiError(400, `The parameter ${param} does not fit: ${what}`, { param });
}

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
