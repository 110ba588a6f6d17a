import { startFakeModel, type FakeModel, type FakeModelOptions } from './fake-model.ts';
import type { Dialect } from './model-play.ts';
import { openAiFrames, openAiWhole } from './fake-openai-stream.ts';
import type { ErrorStep, RequestView } from './model-script.ts';
import { validateOpenAiRequest } from './validate-openai.ts';
import { isRecord, records, textOf } from './validate.ts';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'invalid_request_error',
  403: 'invalid_request_error',
  404: 'invalid_request_error',
  429: 'requests',
};

const dialect: Dialect = {
  api: 'openai',
  base: '/v1',
  path: '/v1/chat/completions',
  modelsPath: '/v1/models',
  keepAlive: ': keep-alive\n\n',
  keyOf: (headers) => headers.authorization?.replace(/^Bearer /u, ''),
  checkHeaders: (headers) =>
    headers['content-type']?.startsWith('application/json') === true ? [] : ['content-type must be application/json'],
  validate: (body, extraKeys) => validateOpenAiRequest(body, extraKeys),
  view,
  frames(answer, identity, body) {
    const options = body['stream_options'];
    return openAiFrames(answer, identity, isRecord(options) && options['include_usage'] === true);
  },
  whole: openAiWhole,
  models: (names) => ({
    object: 'list',
    data: names.map((id) => ({ id, object: 'model', created: 1_790_000_000, owned_by: 'test' })),
  }),
  error: openAiError,
  errorFrame: (message) =>
    `data: ${JSON.stringify({ error: { message, type: 'server_error', param: null, code: null } })}\n\n`,
};

/** The body of an error of OpenAI's APIs. */
export function openAiError(error: ErrorStep['error']): unknown {
  return {
    error: {
      message: error.message ?? `The server answered ${error.status}.`,
      type: error.type ?? ERROR_TYPES[error.status] ?? 'server_error',
      param: null,
      code: error.code ?? (error.status === 401 ? 'invalid_api_key' : null),
    },
  };
}

/** A Chat Completions server (`POST /chat/completions`, `GET /models`) that plays a script; `url` ends in `/v1`. */
export function startFakeOpenAi(options: FakeModelOptions = {}): Promise<FakeModel> {
  return startFakeModel(dialect, options);
}

function view(body: Readonly<Record<string, unknown>>): RequestView {
  const messages = records(body['messages']);
  const lastAssistant = messages.findLastIndex((message) => message['role'] === 'assistant');
  return {
    model: String(body['model']),
    system: messages
      .filter((message) => message['role'] === 'system' || message['role'] === 'developer')
      .map((message) => textOf(message['content']))
      .join('\n'),
    lastUserText: textOf(messages.findLast((message) => message['role'] === 'user')?.['content']).trimEnd(),
    toolResults: messages
      .slice(lastAssistant + 1)
      .filter((message) => message['role'] === 'tool')
      .map((message) => ({ id: String(message['tool_call_id']), text: textOf(message['content']) })),
    tools: records(body['tools']).map((tool) => (isRecord(tool['function']) ? String(tool['function']['name']) : '')),
    messageCount: messages.length,
    stream: body['stream'] === true,
  };
}
