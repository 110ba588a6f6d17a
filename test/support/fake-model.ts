import type { IncomingMessage, ServerResponse } from 'node:http';
import { readBody, replyJson, startServer } from './http.ts';
import { playStep, replyError, type Dialect } from './model-play.ts';
import type { ErrorStep, ModelApiRequest, Step, StepHandler } from './model-script.ts';
import { recordingFile, recordRequest } from './recording.ts';

export interface FakeModelOptions {
  /** Other keys are answered with 401. @default any key */
  readonly apiKey?: string;
  /** Whether the list of models needs no key. @default true */
  readonly hasPublicList?: boolean;
  /** Answers what the queue of `reply` does not. */
  readonly handler?: StepHandler;
  /** What other paths answer to GET. */
  readonly pages?: Readonly<Record<string, unknown>>;
  /** What GET /models lists. */
  readonly models?: readonly string[];
  /** Keys of the body that a compatible server would allow beside the official ones. */
  readonly extraKeys?: readonly string[];
  /** Illegal and unscripted requests are part of the test: disposing does not throw. */
  readonly expectViolations?: boolean;
  /** Appends each request body to this file. @default the environment's ASSISTANT_TEST_RECORD */
  readonly record?: string;
}

/** A model server that plays a script and checks that each request is legal. Disposing throws if one was not. */
export interface FakeModel extends AsyncDisposable {
  /** What the SDK takes as its base URL. */
  readonly url: string;
  /** Every request for an answer, also illegal ones. */
  readonly requests: readonly ModelApiRequest[];
  /** Requests for a record of an old conversation, which come by themselves; not among `requests`. */
  readonly asides: readonly ModelApiRequest[];
  /** What was illegal, each with the number of its request; also requests for which nothing was scripted. */
  readonly violations: readonly string[];
  /** Requests being answered now. */
  readonly inFlight: number;
  /** Steps not yet played. */
  readonly pending: number;
  /** Queues what the next requests get, one step each. */
  reply(...steps: Step[]): void;
  /** Answers requests for which the queue has nothing. */
  setHandler(handler: StepHandler): void;
  /** Answers the asides. @default a plain sentence */
  setAside(handler: StepHandler): void;
  /** Cuts every open connection. */
  cutAll(): void;
  close(): Promise<void>;
}

const WRONG_KEY = { status: 401, message: 'Incorrect API key provided.' };

export async function startFakeModel(dialect: Dialect, options: FakeModelOptions): Promise<FakeModel> {
  const requests: ModelApiRequest[] = [];
  const asides: ModelApiRequest[] = [];
  let aside: StepHandler = ({ view }) =>
    view.tools.includes('save_memory')
      ? { calls: [{ name: 'save_memory', arguments: { history_entry: 'They talked.' } }] }
      : 'They talked.';
  const violations: string[] = [];
  const queue: Step[] = [];
  let handler = options.handler;
  let inFlight = 0;

  const fail = (response: ServerResponse, error: ErrorStep['error']): void => replyError(dialect, response, error);

  const hasKey = ({ headers }: IncomingMessage): boolean =>
    options.apiKey === undefined || dialect.keyOf(headers) === options.apiKey;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readBody(request);
    if (!hasKey(request)) {
      fail(response, WRONG_KEY);
      return;
    }
    const body = parse(text);
    if (body === undefined) {
      violations.push(`request ${requests.length}: the body is not a JSON object`);
      fail(response, { status: 400, message: 'We could not parse the JSON body of your request.' });
      return;
    }
    const file = options.record ?? recordingFile();
    if (file !== undefined) recordRequest(file, dialect.api, body);
    const { headers } = request;
    const problems = [...dialect.checkHeaders(headers), ...dialect.validate(body, options.extraKeys ?? [])];
    const admitted = (problems.length === 0 ? dialect.admit?.(body) : undefined) ?? { body };
    const view = dialect.view('error' in admitted ? body : admitted.body);
    const isAside = view.system.startsWith('You keep the memory of a personal assistant');
    const list = isAside ? asides : requests;
    const seen: ModelApiRequest = {
      index: list.length,
      headers,
      body,
      text,
      at: Date.now(),
      view,
      clientGone: false,
    };
    list.push(seen);
    response.once('close', () => {
      seen.clientGone = !response.writableFinished;
    });
    if ('error' in admitted) {
      fail(response, admitted.error);
      return;
    }
    if (problems.length > 0) {
      for (const problem of problems) violations.push(`request ${seen.index}: ${problem}`);
      fail(response, { status: 400, message: problems.join('; ') });
      return;
    }
    const step = isAside ? await aside(seen) : (queue.shift() ?? (await handler?.(seen)));
    if (step === undefined) {
      violations.push(`request ${seen.index}: nothing is scripted for it`);
      fail(response, { status: 400, message: 'The test scripted no answer for this request.' });
      return;
    }
    await playStep(dialect, response, step, { number: seen.index, model: seen.view.model }, admitted.body);
  };

  const server = await startServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    if (request.method === 'GET' && path === dialect.modelsPath) {
      if (options.hasPublicList === false && !hasKey(request)) fail(response, WRONG_KEY);
      else replyJson(response, 200, dialect.models(options.models ?? ['scripted-model']));
    } else if (request.method === 'GET' && options.pages?.[path] !== undefined) {
      replyJson(response, 200, options.pages[path]);
    } else if (request.method === 'POST' && path === dialect.path) {
      inFlight += 1;
      try {
        await answer(request, response);
      } finally {
        inFlight -= 1;
      }
    } else {
      const other = await dialect.others?.(path, request.method ?? '', await readBody(request));
      if (other !== undefined) {
        response.writeHead(other.status, { 'content-type': other.contentType });
        response.end(other.text);
        return;
      }
      fail(response, { status: 404, message: `Unknown request URL: ${request.method ?? ''} ${path}` });
    }
  });

  const close = async (): Promise<void> => {
    await server.close();
    if (violations.length > 0 && options.expectViolations !== true) {
      throw new Error(`the ${dialect.api} double got illegal requests:\n${violations.join('\n')}`);
    }
  };
  return {
    url: server.url + dialect.base,
    requests,
    asides,
    violations,
    get inFlight() {
      return inFlight;
    },
    get pending() {
      return queue.length;
    },
    reply: (...steps) => void queue.push(...steps),
    setHandler: (next) => {
      handler = next;
    },
    setAside: (next) => {
      aside = next;
    },
    cutAll: () => server.cutAll(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
