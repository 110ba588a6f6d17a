import { describe, expect, test } from 'vitest';
import { readBody, replyJson, startServer } from '../../support/http.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

type Body = Readonly<Record<string, unknown>>;
type Message = Body & { readonly role: string };

const messagesOf = (body: Body): readonly Message[] => body['messages'] as readonly Message[];
const callsOf = (message: Message | undefined): readonly { readonly id: string }[] =>
  (message?.['tool_calls'] ?? []) as readonly { readonly id: string }[];

/** Status and words with which a server refuses a request. */
type Refusal = readonly [status: number, said: string];

/** One thing that a server or a template doesn't take: the refusal of a body that has it. */
type Rule = (body: Body) => Refusal | undefined;

const rule =
  (has: (body: Body) => boolean, ...refusal: Refusal): Rule =>
  (body) =>
    has(body) ? refusal : undefined;

const hasNull = (body: Body): boolean => messagesOf(body).some(({ content }) => content === null);
const hasEmpty = (body: Body): boolean => messagesOf(body).some(({ content }) => content === null || content === '');
const hasUserAfterTool = (body: Body): boolean =>
  messagesOf(body).some(({ role }, at, all) => role === 'user' && all[at - 1]?.role === 'tool');
const hasLongIds = (body: Body): boolean =>
  messagesOf(body).some((message) => callsOf(message).some(({ id }) => !/^[A-Za-z0-9]{9}$/u.test(id)));
const hasTwoCalls = (body: Body): boolean => messagesOf(body).some((message) => callsOf(message).length > 1);
const has =
  (field: string) =>
  (body: Body): boolean =>
    field in body;

interface Server {
  readonly rules: readonly Rule[];
  /** The body of an error. */
  readonly error: (refusal: Refusal) => unknown;
  /** What other paths say, for a version. */
  readonly pages: (version: string) => Readonly<Record<string, unknown>>;
}

const vllmError = ([code, message]: Refusal): unknown => ({
  object: 'error',
  message,
  type: code === 500 ? 'InternalServerError' : 'BadRequestError',
  param: null,
  code,
});
const vllmPages = (version: string): Readonly<Record<string, unknown>> => ({
  '/v1/models': { object: 'list', data: [{ id: 'babble', object: 'model', root: 'babble', max_model_len: 40_000 }] },
  '/version': { version },
});

const SERVERS: Readonly<Record<string, Server>> = {
  'vLLM with a tokenizer of Mistral': {
    rules: [
      rule(hasLongIds, 400, 'Tool call id was T.1 but must be a-z, A-Z, 0-9, with a length of 9.'),
      rule(hasUserAfterTool, 400, "Unexpected role 'user' after role 'tool'"),
    ],
    error: vllmError,
    pages: vllmPages,
  },
  'vLLM without a parser of tools': {
    rules: [
      rule(has('tools'), 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    ],
    error: ([code, message]) => ({ error: { message, type: 'BadRequestError', param: null, code } }),
    pages: vllmPages,
  },
  'SGLang with a template that joins texts': {
    rules: [
      rule(hasNull, 500, 'Internal server error: can only concatenate str (not "NoneType") to str'),
      rule(hasTwoCalls, 500, 'Internal server error: This model only supports single tool-calls at once!'),
    ],
    error: vllmError,
    pages: (version) => ({
      '/v1/models': { object: 'list', data: [{ id: 'babble', root: `babble-${version}`, max_model_len: 40_000 }] },
    }),
  },
  'LM Studio': {
    rules: [
      rule(hasEmpty, 400, "'messages' array must only contain objects with a 'content' field that is not empty."),
      rule(
        hasUserAfterTool,
        400,
        'Error rendering prompt with jinja template: "Conversation roles must alternate user/assistant/user/assistant/...".',
      ),
    ],
    error: ([, error]) => ({ error }),
    pages: (version) => ({
      '/api/v0/models': { data: [{ id: 'babble', loaded_context_length: version === '1' ? 32_768 : 40_960 }] },
    }),
  },
  'llama.cpp with a template that knows neither': {
    rules: [
      rule(
        ({ messages }) => JSON.stringify(messages).includes('"system"'),
        500,
        'Jinja Exception: System role not supported',
      ),
      rule(
        (body) => messagesOf(body).some(({ role }) => role === 'tool'),
        500,
        'Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...',
      ),
    ],
    error: ([code, message]) => ({ error: { code, message, type: 'server_error' } }),
    pages: (version) => ({ '/props': { build_info: version, default_generation_settings: { n_ctx: 40_000 } } }),
  },
  LiteLLM: {
    rules: [
      rule(
        has('stream_options'),
        400,
        "litellm.UnsupportedParamsError: ollama does not support parameters: ['stream_options', 'tools'], for model=babble.",
      ),
      rule(
        has('tools'),
        400,
        "litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=babble.",
      ),
    ],
    error: ([code, message]) => ({ error: { message, type: 'None', param: 'None', code: String(code) } }),
    pages: (version) => ({ '/version': { version } }),
  },
};

/** Answers in two calls while it may, with the oddities of local servers: no usage, a chunk without choices, null for no text. */
function answerTo(body: Body): readonly unknown[] {
  const last = messagesOf(body).at(-1);
  const isAsked = last?.role === 'user' && /look|go on/u.test(JSON.stringify(last['content']));
  const goesOn = last?.role === 'tool' && JSON.stringify(body['messages']).includes('go on');
  const mayCall = 'tools' in body && body['tool_choice'] !== 'none';
  if (!mayCall || !(isAsked || goesOn)) return [{ role: 'assistant', content: null }, { content: 'Here you are.' }];
  const call = (index: number, name: string) => ({
    index,
    id: `call_${index}_of_many_letters`,
    type: 'function',
    function: { name, arguments: '{"path":"."}' },
  });
  return [{ role: 'assistant', content: null, tool_calls: [call(0, 'list_dir'), call(1, 'list_dir')] }];
}

async function startPicky({ rules, error, pages }: Server) {
  const seen: { readonly body: Body; readonly refused: boolean }[] = [];
  const state = { version: '1' };
  const http = await startServer(async (request, response) => {
    const text = await readBody(request);
    if (request.method !== 'POST') {
      const page = pages(state.version)[request.url ?? ''];
      replyJson(response, page === undefined ? 404 : 200, page ?? { error: 'Not Found' });
      return;
    }
    const body = JSON.parse(text) as Body;
    const refusal = rules.map((one) => one(body)).find((one) => one !== undefined);
    seen.push({ body, refused: refusal !== undefined });
    if (refusal !== undefined) {
      replyJson(response, refusal[0], error(refusal));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const deltas = answerTo(body);
    const reason = JSON.stringify(deltas).includes('tool_calls') ? 'tool_calls' : 'stop';
    const chunks = [
      { choices: [] },
      ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
      { choices: [{ index: 0, delta: { content: null }, finish_reason: reason }], usage: null },
    ];
    for (const chunk of chunks) response.write(`data: ${JSON.stringify({ model: 'babble', ...chunk })}\n\n`);
    response.end('data: [DONE]\n\n');
  });
  return { http, seen, state };
}

async function says(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}` });
  return chatOf(world).slice(before).join('\n');
}

describe('a server at home that refuses', () => {
  test.each(Object.keys(SERVERS))(
    'is learned once, remembered over a restart, and tried anew in another version (%s)',
    async (name) => {
      const server = SERVERS[name];
      if (server === undefined) throw new Error('no server');
      const { http, seen, state } = await startPicky(server);
      await using _http = http;
      const providers = { local: { baseUrl: `${http.url}/v1` } };
      await using world = await startWorld({
        config: { agent: { model: 'local/babble', maxIterations: 2, reasoning: 'off' }, providers },
      });
      const refused = (): number => seen.filter((one) => one.refused).length;
      const talk = async (): Promise<void> => {
        for (const text of ['look around', 'go on and on', 'thanks', 'look again']) {
          expect(await says(world, text)).toMatch(/Here you are\.|steps/u);
        }
      };
      await talk();
      const most = refused();
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(server.rules.length + 1);
      await talk();
      expect(refused()).toBe(most);
      const facts = await says(world, '/model');
      expect(facts).toMatch(/Its server refused requests[^]+\(since \d{4}-/u);
      await world.restart();
      await talk();
      expect(refused()).toBe(most);
      state.version = '2';
      await world.restart();
      await talk();
      expect(refused()).toBeGreaterThan(most);
    },
    120_000,
  );

  test('is asked for all of it again after /model', async () => {
    const server = SERVERS['vLLM without a parser of tools'];
    if (server === undefined) throw new Error('no server');
    const { http, seen } = await startPicky(server);
    await using _http = http;
    const providers = { local: { baseUrl: `${http.url}/v1` } };
    await using world = await startWorld({ config: { agent: { model: 'local/babble' }, providers } });
    expect(await says(world, 'hi')).toContain("can't use tools here");
    await says(world, 'and now?');
    expect(seen.map(({ body }) => 'tools' in body)).toEqual([true, false, false]);
    expect(await says(world, '/model')).toContain('/model default');
    await says(world, '/model default');
    expect(await says(world, 'and again?')).toContain("can't use tools here");
    expect(seen.map(({ body }) => 'tools' in body)).toEqual([true, false, false, true, false]);
  });
});
