import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { askWindow, loadedWindow } from '../../src/extensions/ollama/window.ts';
import { askWindow as askOpenAi } from '../../src/extensions/openai/window.ts';
import { LearnedFacts } from '../../src/core/providers/learned.ts';
import { askContextWindow } from '../../src/core/providers/probe-context-window.ts';
import { createProviders } from '../../src/core/providers/registry.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { readBody, replyJson, startServer } from '../support/http.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

type Pages = Readonly<Record<string, unknown>>;

type Server = 'openai' | 'ollama';

async function ask(server: Server, pages: Pages, model = 'llama3'): Promise<number | null> {
  await using http = await startServer(async (request, response) => {
    const body = await readBody(request);
    const page = pages[`${request.method} ${request.url}`];
    if (page === undefined || (body !== '' && !body.includes(model))) replyJson(response, 404, { error: 'not found' });
    else replyJson(response, 200, page);
  });
  const asked = { baseUrl: `${http.url}/v1`, model, apiKey: null, clock: systemClock };
  return server === 'ollama'
    ? await askWindow({ ...asked, configured: null })
    : await askContextWindow(PROGRAM.vendors, 'openai', { ...asked, configured: null });
}

const trained = { model_info: { 'general.architecture': 'llama', 'llama.context_length': 131_072 } };

const small = { model_info: { 'general.architecture': 'llama', 'llama.context_length': 2048 } };

describe('the window of a local model', () => {
  test.each<[string, Server, Pages, number | null]>([
    ['of Ollama is the usual one', 'ollama', { 'POST /api/show': trained }, 32_768],
    ['of Ollama is no more than the model supports', 'ollama', { 'POST /api/show': small }, 2048],
    [
      'of Ollama is what its file sets',
      'ollama',
      { 'POST /api/show': { ...trained, parameters: 'stop "x"\nnum_ctx    8192' } },
      8192,
    ],
    [
      'of Ollama is what the next call loads it with, whatever is loaded',
      'ollama',
      {
        'POST /api/show': trained,
        'GET /api/ps': { models: [{ model: 'llama3:latest', context_length: 4096 }] },
      },
      32_768,
    ],
    [
      'of LM Studio is what it is loaded with',
      'openai',
      { 'GET /api/v0/models': { data: [{ id: 'llama3', loaded_context_length: 4096, max_context_length: 32_768 }] } },
      4096,
    ],
    [
      'of LM Studio is what it can be loaded with',
      'openai',
      { 'GET /api/v0/models': { data: [{ id: 'other' }, { id: 'llama3', max_context_length: 32_768 }] } },
      32_768,
    ],
    [
      'of vLLM is what it is served with',
      'openai',
      { 'GET /v1/models': { data: [{ id: 'llama3', max_model_len: 9000 }] } },
      9000,
    ],
    [
      'of a server with one model is that one, whatever it is called',
      'openai',
      { 'GET /v1/models': { data: [{ id: '/models/llama.gguf', max_model_len: 9000 }] } },
      9000,
    ],
    [
      'of llama.cpp is what it was started with, not what the model was trained on',
      'openai',
      { 'GET /v1/models': { data: [{ id: 'llama3', meta: { n_ctx: 12_288, n_ctx_train: 131_072 } }] } },
      12_288,
    ],
    [
      'of an older llama.cpp is in its properties',
      'openai',
      {
        'GET /v1/models': { data: [{ id: 'llama3' }] },
        'GET /props': { default_generation_settings: { n_ctx: 8_192 } },
      },
      8_192,
    ],
    [
      'of another server is what its list says',
      'openai',
      { 'GET /v1/models': { data: [{ id: 'other' }, { id: 'llama3', context_length: 7000 }] } },
      7000,
    ],
    [
      'of a server that answers with a bare list is what that says',
      'openai',
      { 'GET /v1/models': [{ id: 'other' }, { id: 'llama3', context_length: 7000 }] },
      7000,
    ],
    [
      'of an Ollama that is spoken to as OpenAI is what it has loaded',
      'openai',
      {
        'GET /v1/models': { data: [{ id: 'llama3', object: 'model' }, { id: 'other' }] },
        'GET /api/ps': { models: [{ model: 'llama3:latest', context_length: 4096 }] },
      },
      4096,
    ],
    ['is not known when the server does not know the model', 'ollama', {}, null],
    ['is not known when the server says something else', 'openai', { 'GET /api/v0/models': ['?'] }, null],
  ])('%s', async (_title, server, pages, expected) => {
    expect(await ask(server, pages)).toBe(expected);
  });

  test('is not known when nobody answers within 2 s', async () => {
    await using http = await startServer(() => new Promise(() => {}));
    const clock = new VirtualClock();
    const asked = askOpenAi({ baseUrl: http.url, model: 'm', apiKey: null, clock }, async () => null);
    await clock.advance(2000);
    expect(await asked).toBeNull();
  });

  test('of Ollama is what is configured, and without an answer what it will be told', async () => {
    await using http = await startServer((_request, response) => replyJson(response, 200, trained));
    const windowOf = (ref: string): number | null => (ref.endsWith('/set') ? 60_000 : null);
    const of = (baseUrl: string, model: string): Promise<number | null> =>
      createProviders({
        program: PROGRAM,
        configs: { ollama: { baseUrl } },
        windowOf,
        clock: systemClock,
      }).contextWindow(`ollama/${model}`);
    expect(await of(http.url, 'set')).toBe(60_000);
    expect(await of(`${http.url}/v1`, 'other')).toBe(32_768);
    expect(await of('http://127.0.0.1:9', 'set')).toBe(60_000);
    expect(await of('http://127.0.0.1:9', 'other')).toBe(32_768);
  });

  test.each([
    ['llama3', 4096],
    ['llama3:latest', 4096],
    ['qwen3', null],
  ])('that Ollama has loaded of %s is %s', async (model, expected) => {
    await using http = await startServer((_request, response) =>
      replyJson(response, 200, { models: [{ model: 'llama3:latest', context_length: 4096 }] }),
    );
    const asked = { baseUrl: `${http.url}/v1/`, model, apiKey: null, clock: systemClock };
    expect(await loadedWindow(asked)).toBe(expected);
  });

  test('is asked through the providers, of local servers only', async () => {
    await using http = await startServer((_request, response) =>
      replyJson(response, 200, { data: [{ id: 'qwen/qwen3', max_context_length: 5000 }] }),
    );
    const configs = { lab: { kind: 'lmstudio', baseUrl: `${http.url}/v1/` }, openai: { apiKey: 'k' } };
    const providers = createProviders({ program: PROGRAM, configs, clock: systemClock });
    expect(await providers.contextWindow('lab/qwen/qwen3')).toBe(5000);
    expect(await providers.contextWindow('openai/gpt-5.5')).toBeNull();
    expect(await providers.contextWindow('nonsense')).toBeNull();
  });

  test('is asked with the headers of the provider', async () => {
    await using http = await startServer((request, response) =>
      request.headers['x-gateway'] === 'g'
        ? replyJson(response, 200, { data: [{ id: 'm', max_model_len: 5000 }] })
        : replyJson(response, 403, {}),
    );
    const configs = { lab: { kind: 'openai', baseUrl: `${http.url}/v1`, headers: { 'X-Gateway': 'g' } } };
    expect(await createProviders({ program: PROGRAM, configs, clock: systemClock }).contextWindow('lab/m')).toBe(5000);
  });
});

describe('what was learned of a model', () => {
  const NAME = { provider: 'lab', model: 'llama3' };
  const llamaCpp = (props: object): Pages => ({
    'GET /v1/models': { data: [{ id: 'llama3', meta: { n_params: 7 } }] },
    'GET /props': { build_info: 'b1', chat_template: 'a', default_generation_settings: { n_ctx: 8_192 }, ...props },
  });
  const vllm = (version: string): Pages => ({
    'GET /v1/models': { data: [{ id: 'llama3', max_model_len: 9000 }] },
    'GET /version': { version },
  });
  const ollama = (version: string): Pages => ({
    'POST /api/show': { ...trained, modified_at: '2026-01-01' },
    'GET /api/version': { version },
  });
  const lmStudio = (loaded: number): Pages => ({
    'GET /api/v0/models': { data: [{ id: 'llama3', loaded_context_length: loaded }] },
  });

  /** Whether what was learned between two questions is still there after the second; a number is a status. */
  async function isKept(kind: string, first: Pages, second: Pages): Promise<boolean> {
    let pages = first;
    await using http = await startServer((request, response) => {
      const page = pages[`${request.method} ${request.url}`] ?? 404;
      if (typeof page === 'number') replyJson(response, page, { error: 'no' });
      else replyJson(response, 200, page);
    });
    const learned = new LearnedFacts({ clock: systemClock });
    const configs = { lab: { kind, baseUrl: `${http.url}/v1` } };
    const providers = createProviders({ program: PROGRAM, configs, learned, clock: systemClock });
    await providers.contextWindow('lab/llama3');
    learned.learnWindow(NAME, 4_096);
    pages = second;
    await providers.contextWindow('lab/llama3');
    return learned.window(NAME) === 4_096;
  }

  test.each<[string, string, Pages, Pages]>([
    ['llama.cpp with another build', 'openai', llamaCpp({}), llamaCpp({ build_info: 'b2' })],
    ['llama.cpp with another template', 'openai', llamaCpp({}), llamaCpp({ chat_template: 'b' })],
    [
      'llama.cpp with another window',
      'openai',
      llamaCpp({}),
      llamaCpp({ default_generation_settings: { n_ctx: 16_384 } }),
    ],
    ['another version of vLLM', 'openai', vllm('1'), vllm('2')],
    ['another version of Ollama', 'ollama', ollama('1'), ollama('2')],
    ['LM Studio with another window', 'openai', lmStudio(4_096), lmStudio(32_768)],
  ])('is forgotten when its server is %s', async (_title, kind, first, second) => {
    expect(await isKept(kind, first, first)).toBe(true);
    expect(await isKept(kind, first, second)).toBe(false);
  });

  test.each<[string, string, Pages, Pages]>([
    ['answers a part of the questions', 'openai', llamaCpp({}), { ...llamaCpp({}), 'GET /props': 503 }],
    ['does not tell its version this time', 'openai', vllm('1'), { ...vllm('1'), 'GET /version': 500 }],
    ['says nothing', 'openai', vllm('1'), {}],
  ])('stays when its server %s', async (_title, kind, first, second) => {
    expect(await isKept(kind, first, second)).toBe(true);
  });
});
