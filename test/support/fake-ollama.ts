import { startFakeModel, type FakeModel, type FakeModelOptions } from './fake-model.ts';
import { ollamaFrames, ollamaWhole } from './fake-ollama-stream.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import type { Admitted, Dialect, OtherAnswer } from './model-play.ts';
import type { ErrorStep, RequestView } from './model-script.ts';
import { isRecord, records } from './validate.ts';
import { validateOllamaRequest } from './validate-ollama.ts';

/** A model that was pulled. */
export interface OllamaModelFacts {
  /** @default completion, tools, thinking, vision; null: a server that is too old to say */
  readonly capabilities?: readonly string[] | null;
  /** Most tokens that it supports. @default 40,960 */
  readonly supported?: number;
  /** Of its model file. */
  readonly numCtx?: number;
  /** What `think` may be, as newer servers say. */
  readonly thinkValues?: readonly unknown[];
}

export interface FakeOllamaOptions extends FakeModelOptions {
  /** Those that were pulled. @default any, with everything that a model can do */
  readonly pulled?: Readonly<Record<string, OllamaModelFacts>>;
  /** Tokens with which models are loaded when nothing says how many. @default 4,096 */
  readonly window?: number;
  /** More tokens do not fit into the memory of the machine. */
  readonly mostWindow?: number;
  /** Something between takes the options away, or the server knows neither them nor `truncate`. */
  readonly ignores?: 'options' | 'truncate';
}

export interface FakeOllama extends FakeModel {
  /** The prompts that a model saw, each as one text, oldest first. */
  readonly seen: readonly string[];
  /** How often a model was loaded: at its first call, and when its window changes. */
  readonly loads: number;
}

type Body = Readonly<Record<string, unknown>>;

/** Four characters are about a token. */
const TOKEN_CHARS = 4;
const EVERYTHING = ['completion', 'tools', 'thinking', 'vision'];
/** What the runner keeps of the front of a prompt that it cuts (`num_keep`), tokens. */
const NUM_KEEP = 4;

/**
 * An Ollama, as its documentation and its prompt code describe it: `/api/version`, `/api/tags`, `/api/show`, `/api/ps`, `/api/chat` in
 * lines of JSON, and an OpenAI-compatible API below `/v1` that takes no `num_ctx`. It loads a model with `num_ctx`, else
 * with that of its file, else with `window`. From a prompt that is longer it drops the oldest messages without a word, but for
 * those of the system and the newest one; what is too long then loses its beginning. `truncate: false` makes an error of that.
 */
export async function startFakeOllama(options: FakeOllamaOptions = {}): Promise<FakeOllama> {
  const { window = 4_096, pulled, mostWindow = Infinity, ignores } = options;
  const seen: string[] = [];
  let loaded: { readonly model: string; readonly window: number } | undefined;
  let loads = 0;

  const factsOf = (model: string): OllamaModelFacts | undefined => {
    if (pulled === undefined) return {};
    return pulled[model] ?? pulled[model.replace(/:latest$/u, '')] ?? pulled[`${model}:latest`];
  };
  const refusal = (status: number, message: string): ErrorStep => ({ error: { status, message } });

  /** Loads the model and gives the prompt that it sees. */
  const admit = (body: Body, isNative: boolean): Admitted => {
    const model = String(body['model']);
    const facts = factsOf(model);
    if (facts === undefined) return refusal(404, `model '${model}' not found`);
    const can = (what: string): boolean => (facts.capabilities ?? EVERYTHING).includes(what);
    if (records(body['tools']).length > 0 && !can('tools')) {
      return refusal(400, `registry.ollama.ai/library/${model} does not support tools`);
    }
    if (body['think'] !== undefined && body['think'] !== false && !can('thinking')) {
      return refusal(400, `"${model}" does not support thinking`);
    }
    const asked = isRecord(body['options']) ? Number(body['options']['num_ctx']) : Number.NaN;
    const wanted = isNative && ignores !== 'options' && asked > 0 ? asked : (facts.numCtx ?? window);
    const size = Math.min(wanted, facts.supported ?? 40_960);
    if (size > mostWindow) {
      return refusal(500, 'model requires more system memory (9.8 GiB) than is available (7.1 GiB)');
    }
    if (loaded?.model !== model || loaded.window !== size) loads += 1;
    loaded = { model, window: size };
    const isStrict = isNative && body['truncate'] === false && ignores === undefined;
    if (isStrict && tokensOf(body) > size) return refusal(400, 'the input length exceeds the context length');
    const fitted = truncated(body, size);
    seen.push(textOf(fitted));
    return { body: fitted };
  };

  const openAi = await startFakeOpenAi({ ...options, models: Object.keys(pulled ?? {}), expectViolations: true });
  const others = async (path: string, method: string, text: string): Promise<OtherAnswer | undefined> => {
    const json = (value: unknown, status = 200): OtherAnswer => ({
      status,
      contentType: 'application/json; charset=utf-8',
      text: JSON.stringify(value),
    });
    const body: unknown = text === '' ? {} : JSON.parse(text);
    switch (`${method} ${path}`) {
      case 'GET /api/version':
        return json({ version: '0.12.6' });
      case 'GET /api/ps':
        return json({
          models:
            loaded === undefined ? [] : [{ name: loaded.model, model: loaded.model, context_length: loaded.window }],
        });
      case 'POST /api/show': {
        const model = isRecord(body) ? String(body['model']) : '';
        const facts = factsOf(model);
        return facts === undefined ? json({ error: `model '${model}' not found` }, 404) : json(shownOf(facts));
      }
    }
    if (!path.startsWith('/v1/')) return undefined;
    const admitted = isRecord(body) && method === 'POST' ? admit(body, false) : { body: {} };
    if ('error' in admitted) {
      const { status, message } = admitted.error;
      return json({ error: { message, type: 'api_error', param: null, code: null } }, status);
    }
    const answer = await fetch(openAi.url.replace(/\/v1$/u, '') + path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: JSON.stringify(admitted.body) } : {}),
    });
    const contentType = answer.headers.get('content-type') ?? 'application/json';
    return { status: answer.status, contentType, text: await answer.text() };
  };

  const model = await startFakeModel(
    { ...DIALECT, admit: (body) => admit(body, true), others },
    {
      ...options,
      models: Object.keys(pulled ?? { 'test-model': {} }),
    },
  );
  const closeModel = model.close.bind(model);
  const close = async (): Promise<void> => {
    await openAi.close();
    await closeModel();
  };
  return Object.defineProperties(model, {
    seen: { value: seen },
    loads: { get: () => loads },
    close: { value: close },
    [Symbol.asyncDispose]: { value: close },
  }) as FakeOllama;
}

const DIALECT: Dialect = {
  api: 'ollama',
  base: '',
  path: '/api/chat',
  modelsPath: '/api/tags',
  keepAlive: '\n',
  streamType: 'application/x-ndjson',
  keyOf: (headers) => headers.authorization?.replace(/^Bearer /u, ''),
  checkHeaders: () => [],
  validate: (body, extraKeys) => validateOllamaRequest(body, extraKeys),
  view,
  frames: (answer, identity, body) => ollamaFrames(answer, identity, tokensOf(body)),
  whole: ollamaWhole,
  models: (names) => ({
    models: names.map((name) => ({ name, model: name, modified_at: '2026-01-01T00:00:00Z', size: 5_200_000_000 })),
  }),
  error: (error) => ({ error: error.message ?? `The server answered ${error.status}.` }),
  errorFrame: (message) => `${JSON.stringify({ error: message })}\n`,
};

function shownOf({ capabilities = EVERYTHING, supported = 40_960, numCtx, thinkValues }: OllamaModelFacts): unknown {
  return {
    ...(numCtx === undefined ? {} : { parameters: `stop "<|im_end|>"\nnum_ctx   ${numCtx}` }),
    model_info: { 'general.architecture': 'qwen3', 'qwen3.context_length': supported },
    ...(capabilities === null ? {} : { capabilities }),
    ...(thinkValues === undefined ? {} : { thinking: { values: thinkValues } }),
  };
}

/** The messages that fit: oldest dropped first, a tool's result never without its call; the last one loses its front. */
function truncated(body: Body, window: number): Body {
  const messages = records(body['messages']);
  const system = messages.filter(({ role }) => role === 'system');
  const rest = messages.filter(({ role }) => role !== 'system');
  for (let from = 0; from < rest.length; from += 1) {
    const fitted = { ...body, messages: [...system, ...rest.slice(blockStart(rest, from))] };
    if (tokensOf(fitted) <= window) return fitted;
  }
  const last = rest.at(-1) ?? {};
  const whole = textOf({ ...body, messages: [...system, last] });
  const cut = whole.slice(0, NUM_KEEP * TOKEN_CHARS) + whole.slice(-(window - NUM_KEEP) * TOKEN_CHARS);
  return { ...body, tools: undefined, messages: [{ ...last, content: cut }] };
}

function blockStart(messages: readonly Body[], from: number): number {
  let start = from;
  while (start > 0 && messages[start]?.['role'] === 'tool') start -= 1;
  return start;
}

function tokensOf(body: Body): number {
  return Math.ceil(textOf(body).length / TOKEN_CHARS);
}

/** The prompt: system, tools, then what was said. */
function textOf(body: Body): string {
  const tools = records(body['tools']);
  const messages = records(body['messages']).map(({ content, tool_calls: calls }) =>
    [content, ...records(calls).map((call) => JSON.stringify(call))].join('\n'),
  );
  return [...(tools.length === 0 ? [] : [JSON.stringify(tools)]), ...messages].join('\n');
}

function view(body: Body): RequestView {
  const messages = records(body['messages']);
  const of = (role: string): readonly Body[] => messages.filter((message) => message['role'] === role);
  const lastAssistant = messages.findLastIndex(({ role }) => role === 'assistant');
  return {
    model: String(body['model']),
    system: of('system')
      .map(({ content }) => String(content))
      .join('\n'),
    lastUserText:
      of('user')
        .map(({ content }) => String(content))
        .findLast((content) => content !== '') ?? '',
    toolResults: messages
      .slice(lastAssistant + 1)
      .filter(({ role }) => role === 'tool')
      .map((message) => ({ id: String(message['tool_call_id']), text: String(message['content']) })),
    tools: records(body['tools']).map((tool) => String(isRecord(tool['function']) ? tool['function']['name'] : '')),
    messageCount: messages.length,
    stream: body['stream'] !== false,
  };
}
