import { startFakeModel, type FakeModel, type FakeModelOptions } from './fake-model.ts';
import { openAiError } from './fake-openai.ts';
import { responsesFrame, responsesFrames, responsesWhole } from './fake-openai-responses-stream.ts';
import type { Dialect } from './model-play.ts';
import type { RequestView } from './model-script.ts';
import { validateResponsesRequest } from './validate-openai-responses.ts';
import { records } from './validate.ts';

const dialect: Dialect = {
  api: 'openai-responses',
  base: '/v1',
  path: '/v1/responses',
  modelsPath: '/v1/models',
  keepAlive: ': keep-alive\n\n',
  keyOf: (headers) => headers.authorization?.replace(/^Bearer /u, ''),
  checkHeaders: (headers) =>
    headers['content-type']?.startsWith('application/json') === true ? [] : ['content-type must be application/json'],
  validate: (body, extraKeys) => validateResponsesRequest(body, extraKeys),
  view,
  frames: (answer, identity) => responsesFrames(answer, identity),
  whole: responsesWhole,
  models: (names) => ({
    object: 'list',
    data: names.map((id) => ({ id, object: 'model', created: 1_790_000_000, owned_by: 'test' })),
  }),
  error: openAiError,
  errorFrame: (message) =>
    responsesFrame({ type: 'error', sequence_number: 99, code: 'server_error', message, param: null }),
};

/** A Responses server (`POST /responses`, `GET /models`) that plays a script; `url` ends in `/v1`. */
export function startFakeOpenAiResponses(options: FakeModelOptions = {}): Promise<FakeModel> {
  return startFakeModel(dialect, options);
}

function view(body: Readonly<Record<string, unknown>>): RequestView {
  const items = records(body['input']);
  const lastOwn = items.findLastIndex((item) => item['role'] === 'assistant' || item['type'] === 'function_call');
  return {
    model: String(body['model']),
    system: typeof body['instructions'] === 'string' ? body['instructions'] : '',
    lastUserText: inputText(items.findLast((item) => item['role'] === 'user')?.['content']),
    toolResults: items
      .slice(lastOwn + 1)
      .filter((item) => item['type'] === 'function_call_output')
      .map((item) => ({ id: String(item['call_id']), text: inputText(item['output']) })),
    tools: records(body['tools']).map((tool) => String(tool['name'])),
    messageCount: items.length,
    stream: body['stream'] === true,
  };
}

function inputText(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = records(content).filter((part) => part['type'] === 'input_text');
  return texts.map((part) => String(part['text'])).join('\n');
}
