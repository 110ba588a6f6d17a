import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { cutConnection, pause, replyJson, resetConnection, untilClosed } from './http.ts';
import type { Answer, ErrorStep, FaultStep, RawStep, RequestView, Step } from './model-script.ts';

export interface Identity {
  /** Counts the answers of this server. */
  readonly number: number;
  readonly model: string;
}

export type Admitted = { readonly body: Readonly<Record<string, unknown>> } | ErrorStep;

export interface OtherAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** What differs between two model APIs. */
export interface Dialect {
  readonly api: 'openai' | 'openai-responses' | 'anthropic' | 'ollama';
  readonly path: string;
  readonly modelsPath: string;
  /** What the SDK takes, relative to the server. */
  readonly base: string;
  readonly keepAlive: string;
  /** Of a stream. @default an event stream */
  readonly streamType?: string;
  keyOf(headers: IncomingMessage['headers']): string | undefined;
  checkHeaders(headers: IncomingMessage['headers']): readonly string[];
  validate(body: unknown, extraKeys: readonly string[]): readonly string[];
  view(body: Readonly<Record<string, unknown>>): RequestView;
  /** What the server makes of a legal request before a model sees it, or why it refuses. @default what came */
  admit?(body: Readonly<Record<string, unknown>>): Admitted;
  /** Answers requests for other paths; undefined: there is no such path. */
  others?(path: string, method: string, text: string): Promise<OtherAnswer | undefined>;
  /** The events of a stream, each with its empty line. */
  frames(answer: Answer, identity: Identity, body: Readonly<Record<string, unknown>>): readonly string[];
  whole(answer: Answer, identity: Identity): unknown;
  models(names: readonly string[]): unknown;
  error(error: ErrorStep['error']): unknown;
  /** An error event in the middle of a stream. */
  errorFrame(message: string): string;
}

/** Does to the response what the step says. */
export async function playStep(
  dialect: Dialect,
  response: ServerResponse,
  step: Step,
  identity: Identity,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (typeof step === 'string') {
    await playAnswer(dialect, response, { text: step }, identity, body);
    return;
  }
  if (step.delayMs !== undefined && !(await pause(response, step.delayMs))) return;
  if ('error' in step) replyError(dialect, response, step.error);
  else if ('raw' in step) playRaw(response, step);
  else if (isFault(step)) await playFault(response, step);
  else await playAnswer(dialect, response, step, identity, body);
}

function isFault(step: Answer | FaultStep): step is FaultStep {
  return step.fault === 'reset' || step.fault === 'hang';
}

async function playFault(response: ServerResponse, step: FaultStep): Promise<void> {
  if (step.fault === 'reset') resetConnection(response);
  else await untilClosed(response);
}

function playRaw(response: ServerResponse, step: RawStep): void {
  response.writeHead(step.status ?? 200, { 'content-type': step.contentType ?? 'text/event-stream' });
  for (const entry of step.raw) response.write(entry.endsWith('\n') ? entry : `${entry}\n\n`);
  response.end();
}

async function playAnswer(
  dialect: Dialect,
  response: ServerResponse,
  answer: Answer,
  identity: Identity,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const stream = body['stream'] === true;
  if (!stream && answer.fault === undefined) {
    replyJson(response, 200, dialect.whole(answer, identity));
    return;
  }
  const frames = stream ? dialect.frames(answer, identity, body) : halfOf(dialect.whole(answer, identity));
  const streamType = dialect.streamType ?? 'text/event-stream; charset=utf-8';
  const contentType = stream ? streamType : 'application/json';
  response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-cache' });
  const stopAt = answer.fault === undefined ? frames.length : Math.min(answer.afterEvents ?? 2, frames.length);
  if (answer.eventDelayMs === undefined) {
    response.write(frames.slice(0, stopAt).join(''));
  } else {
    for (const frame of frames.slice(0, stopAt)) {
      response.write(frame);
      if (!(await pause(response, answer.eventDelayMs))) return;
    }
  }
  switch (answer.fault) {
    case undefined:
    case 'end-mid':
      response.end();
      return;
    case 'error-mid':
      response.end(dialect.errorFrame('The server had an error while processing your request.'));
      return;
    case 'reset-mid':
      await cutConnection(response);
      return;
    case 'hang-mid':
      await untilClosed(response);
      return;
    case 'drip':
      do response.write(dialect.keepAlive);
      while (await pause(response, 20));
  }
}

function halfOf(value: unknown): readonly string[] {
  const text = JSON.stringify(value);
  return [text.slice(0, Math.floor(text.length / 2))];
}

export function replyError(dialect: Dialect, response: ServerResponse, error: ErrorStep['error']): void {
  const headers: OutgoingHttpHeaders = { ...error.headers };
  if (typeof error.body === 'string') {
    response.writeHead(error.status, { 'content-type': 'text/html', ...headers });
    response.end(error.body);
  } else {
    replyJson(response, error.status, error.body ?? dialect.error(error), headers);
  }
}
