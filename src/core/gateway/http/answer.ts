import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type * as z from 'zod';
import { AppError } from '../../util/errors.ts';
import { openAiError } from '../openai/errors.ts';
import type { Refusal } from './safety.ts';
import type { WireError } from './wire.ts';

export type HttpEnv = { Bindings: HttpBindings };
export type HttpContext = Context<HttpEnv>;

/** Answers with an error in the one shape of all of them; below `/v1` in the shape that its clients read. */
export function failure(
  context: HttpContext,
  status: ContentfulStatusCode,
  code: string,
  message: string,
  facts: Readonly<Record<string, unknown>> = {},
): Response {
  if (context.req.path.startsWith('/v1/')) return context.json(openAiError(status, message, { code }), status);
  const body: WireError = { error: { code, message, ...(Object.keys(facts).length === 0 ? {} : { facts }) } };
  return context.json(body, status);
}

export function refused(context: HttpContext, { status, code, message, retryAfter }: Refusal): Response {
  if (retryAfter !== undefined) context.header('Retry-After', String(retryAfter));
  return failure(context, status, code, message);
}

/** Reads a JSON body. Throws `input-invalid` when it is none, or not as the schema says. */
export async function jsonBody<Schema extends z.ZodType>(
  context: HttpContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await context.req.text();
  let given: unknown;
  try {
    given = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new AppError('input-invalid', 'The body of the request is not valid JSON.');
  }
  return parsed(schema, given);
}

/** Throws `input-invalid` with one sentence that names the first thing that is wrong. */
function parsed<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? 'The request' : issue.path.join('.');
  throw new AppError('input-invalid', `${where}: ${issue?.message ?? 'is not valid'}.`);
}

/** The status of an answer that says why something could not be done. */
export function statusOf({ code }: AppError): 400 | 404 | 409 | 413 | 422 | 503 {
  if (code === 'input-invalid' || code === 'operation-invalid') return 400;
  if (code === 'upload-too-large') return 413;
  if (code === 'storage-unwritable') return 503;
  if (code.endsWith('-unknown')) return 404;
  return /-(?:busy|changed|closed|exists)$/u.test(code) ? 409 : 422;
}
