import { anthropicFrame, anthropicFrames, anthropicWhole } from './fake-anthropic-stream.ts';
import { startFakeModel, type FakeModel, type FakeModelOptions } from './fake-model.ts';
import type { Dialect } from './model-play.ts';
import type { RequestView } from './model-script.ts';
import { validateAnthropicRequest } from './validate-anthropic.ts';
import { records, textOf } from './validate.ts';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const dialect: Dialect = {
  api: 'anthropic',
  base: '',
  path: '/v1/messages',
  modelsPath: '/v1/models',
  keepAlive: anthropicFrame({ type: 'ping' }),
  keyOf(headers) {
    const key = headers['x-api-key'];
    return typeof key === 'string' ? key : headers.authorization?.replace(/^Bearer /u, '');
  },
  checkHeaders: (headers) =>
    /^\d{4}-\d{2}-\d{2}$/u.test(String(headers['anthropic-version']))
      ? []
      : ['the header anthropic-version is required and holds a date'],
  validate: (body, extraKeys) => validateAnthropicRequest(body, extraKeys),
  view,
  frames: (answer, identity) => anthropicFrames(answer, identity),
  whole: anthropicWhole,
  models: (names) => ({
    data: names.map((id) => ({ id, type: 'model', display_name: id, created_at: '2026-01-01T00:00:00Z' })),
    first_id: names[0] ?? null,
    last_id: names.at(-1) ?? null,
    has_more: false,
  }),
  error: (error) => ({
    type: 'error',
    error: {
      type: error.type ?? ERROR_TYPES[error.status] ?? 'api_error',
      message: error.message ?? `The server answered ${error.status}.`,
    },
    request_id: 'req_test',
  }),
  errorFrame: (message) =>
    anthropicFrame({ type: 'error', error: { type: 'overloaded_error', message }, request_id: 'req_test' }),
};

/** A Messages server (`POST /v1/messages`, `GET /v1/models`) that plays a script; `url` has no `/v1`, as the SDK wants it. */
export function startFakeAnthropic(options: FakeModelOptions = {}): Promise<FakeModel> {
  return startFakeModel(dialect, options);
}

function view(body: Readonly<Record<string, unknown>>): RequestView {
  const messages = records(body['messages']);
  const lastAssistant = messages.findLastIndex((message) => message['role'] === 'assistant');
  const texts = messages
    .filter((message) => message['role'] === 'user')
    .map((message) => textOf(message['content']))
    .filter((text) => text !== '');
  return {
    model: String(body['model']),
    system: textOf(body['system']),
    lastUserText: texts.at(-1) ?? '',
    toolResults: messages
      .slice(lastAssistant + 1)
      .flatMap((message) => records(message['content']))
      .filter((block) => block['type'] === 'tool_result')
      .map((block) => ({ id: String(block['tool_use_id']), text: textOf(block['content']) })),
    tools: records(body['tools']).map((tool) => String(tool['name'])),
    messageCount: messages.length,
    stream: body['stream'] === true,
  };
}
