import { Anthropic } from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { createAnthropicProvider } from '../../src/extensions/anthropic/messages.ts';
import { createOpenAiProvider } from '../../src/extensions/openai/chat.ts';
import { classifyError, type ErrorContext } from '../../src/core/providers/errors.ts';
import { DeadlineError, systemClock } from '../../src/core/util/clock.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const SECRET = 'sk-live-very-secret-key';
const CONTEXT: ErrorContext = {
  provider: 'openai',
  host: null,
  model: 'gpt-9',
  toolChoice: 'auto',
  keyVariable: 'OPENAI_API_KEY',
  secrets: [SECRET],
  now: NOW,
};

interface Answer {
  readonly status?: number;
  readonly error?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What both SDKs throw for an answer, as far as anybody looks at it. */
function answered({ status, error, headers = {} }: Answer): Error {
  const message = `${status ?? ''} ${JSON.stringify(error)}`;
  return Object.assign(new Error(message), { status, error, headers: new Headers(headers) });
}

function coded(code: string): Error {
  const cause = Object.assign(new Error(`connect ${code}`), { code });
  return new Error('Connection error.', { cause: new TypeError('fetch failed', { cause }) });
}

const said = (message: string, status = 400): Error => answered({ status, error: { message } });

describe('answers of servers', () => {
  test.each([
    ['OpenAI', { status: 400, error: { code: 'context_length_exceeded', message: 'Too long.' } }],
    ['OpenAI, newer', { status: 400, error: { message: 'Your input exceeds the context window of this model.' } }],
    [
      'Anthropic',
      {
        status: 400,
        error: { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 2 > 1' } },
      },
    ],
    [
      'Anthropic with max_tokens',
      { status: 400, error: { error: { message: 'input length and `max_tokens` exceed context limit: 1 + 2 > 2' } } },
    ],
    [
      'llama.cpp',
      {
        status: 400,
        error: { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' },
      },
    ],
    ['Ollama', { status: 400, error: 'the input length exceeds the context length' }],
    ['vLLM', { status: 400, error: { message: "This model's maximum context length is 4096 tokens." } }],
    [
      'vLLM, older',
      { status: 400, error: { message: 'The decoder prompt (length 9) is longer than the maximum model length of 4' } },
    ],
    [
      'Gemini',
      { status: 400, error: { message: 'The input token count (9) exceeds the maximum number of tokens allowed (4)' } },
    ],
    ['a server that says so with 413', { status: 413, error: { message: 'the prompt is too long: 9 > 4 tokens' } }],
  ])('a prompt too long for %s is a context overflow', (_name, answer) => {
    expect(classifyError(answered(answer), CONTEXT)).toMatchObject({ kind: 'context-overflow', retryable: false });
  });

  test.each([
    ['Anthropic', { status: 413, error: { error: { type: 'request_too_large', message: 'Request too large' } } }],
    ['a proxy', { status: 413, error: '<html><h1>413 Request Entity Too Large</h1></html>' }],
  ])('a request with too many bytes for %s is told apart from one with too many tokens', (_name, answer) => {
    expect(classifyError(answered(answer), CONTEXT)).toMatchObject({ kind: 'request-too-large', retryable: false });
  });

  test.each([
    [
      'insufficient_quota',
      { status: 429, error: { code: 'insufficient_quota', message: 'You exceeded your current quota' } },
    ],
    ['402', { status: 402, error: { message: 'Insufficient Balance' } }],
    [
      'a low credit balance',
      { status: 400, error: { error: { message: 'Your credit balance is too low to access' } } },
    ],
    ['billing_error', { error: { error: { type: 'billing_error', message: 'Pay first' } } }],
  ])('%s is quota and not worth a retry', (_name, answer) => {
    expect(classifyError(answered(answer), CONTEXT)).toMatchObject({ kind: 'quota', retryable: false });
  });

  test.each([
    [429, 'rate-limit', true],
    [408, 'timeout', true],
    [504, 'timeout', true],
    [500, 'overloaded', true],
    [502, 'overloaded', true],
    [503, 'overloaded', true],
    [529, 'overloaded', true],
    [400, 'bad-request', false],
    [404, 'bad-request', false],
    [422, 'bad-request', false],
    [401, 'auth', false],
    [403, 'auth', false],
  ] as const)('status %i is %s', (status, kind, retryable) => {
    expect(classifyError(said('Something.', status), CONTEXT)).toMatchObject({ kind, retryable, status });
  });

  test('a rate limit that talks of billing stays a rate limit', () => {
    const message = 'Rate limit reached. Add a payment method at https://platform.openai.com/account/billing.';
    expect(classifyError(said(message, 429), CONTEXT).kind).toBe('rate-limit');
  });

  test('tokens per minute exceeded by a large request is a rate limit, not an overflow', () => {
    const error = { code: 'rate_limit_exceeded', message: 'Request too large for model on tokens per minute (TPM)' };
    expect(classifyError(answered({ status: 413, error }), CONTEXT).kind).toBe('rate-limit');
  });

  test.each([
    ['overloaded_error', 'overloaded'],
    ['rate_limit_error', 'rate-limit'],
    ['api_error', 'overloaded'],
    ['authentication_error', 'auth'],
    ['invalid_request_error', 'bad-request'],
    ['never_heard_of', 'overloaded'],
  ])('an error event of type %s without a status is %s', (type, kind) => {
    const found = classifyError(answered({ error: { type: 'error', error: { type, message: 'Oh.' } } }), CONTEXT);
    expect(found.kind).toBe(kind);
    expect(found).not.toHaveProperty('status');
  });

  test.each([
    ['Invalid value for tool_choice: only auto is allowed'],
    ['toolChoice is not supported by this model'],
    ['deepseek-reasoner does not support this tool_choice'],
    ['tool_choice should be ["none", "auto"]'],
    ['Thinking may not be enabled when tool_choice forces tool use.'],
  ])('"%s" is an unsupported tool choice when a tool was forced', (message) => {
    const forced = { ...CONTEXT, toolChoice: { tool: 'save' } };
    expect(classifyError(said(message), forced)).toMatchObject({ kind: 'unsupported-tool-choice', retryable: false });
    expect(classifyError(said(message), CONTEXT).kind).toBe('bad-request');
  });

  test.each([['content_filter'], ['content_policy_violation']])('%s is a refusal', (code) => {
    const error = { code, message: 'The response was filtered.' };
    expect(classifyError(answered({ status: 400, error }), CONTEXT)).toMatchObject({
      kind: 'refusal',
      retryable: false,
    });
  });

  test('a bad key told as a bad request is a matter of the key', () => {
    expect(classifyError(said('API key not valid. Please pass a valid API key.'), CONTEXT).kind).toBe('auth');
  });
});

describe('how long to wait', () => {
  test.each([
    [{ 'retry-after': '12' }, 12_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '1500', 'retry-after': '12' }, 1500],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after': '-3' }, 0],
  ])('%j is %i ms', (headers, ms) => {
    expect(classifyError(answered({ status: 429, error: {}, headers }), CONTEXT).retryAfterMs).toBe(ms);
  });

  test('nonsense is no wait at all', () => {
    const error = answered({ status: 429, error: {}, headers: { 'retry-after': 'soon' } });
    expect(classifyError(error, CONTEXT)).not.toHaveProperty('retryAfterMs');
  });
});

describe('connections', () => {
  test.each([
    ['ECONNREFUSED', 'network', true],
    ['ENOTFOUND', 'network', true],
    ['ECONNRESET', 'network', true],
    ['UND_ERR_SOCKET', 'network', true],
    ['ETIMEDOUT', 'timeout', true],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', true],
    ['CERT_HAS_EXPIRED', 'network', false],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'network', false],
  ])('%s is %s', (code, kind, retryable) => {
    expect(classifyError(coded(code), CONTEXT)).toMatchObject({ kind, retryable });
  });

  test('a bare "terminated" is a broken connection', () => {
    expect(classifyError(new TypeError('terminated'), CONTEXT)).toMatchObject({ kind: 'network', retryable: true });
  });

  test('a deadline is a timeout, however deep it is wrapped', () => {
    const thrown = new Error('Connection error.', { cause: new DeadlineError('the first byte of the answer', 60_000) });
    const found = classifyError(thrown, CONTEXT);
    expect(found).toMatchObject({ kind: 'timeout', retryable: true });
    expect(found.message).toContain('the first byte of the answer took longer than 60000 ms');
  });

  test('an abort is an abort', () => {
    expect(classifyError(new DOMException('stopped', 'AbortError'), CONTEXT).kind).toBe('aborted');
  });

  test.each([
    { sdk: OpenAI, create: createOpenAiProvider },
    { sdk: Anthropic, create: createAnthropicProvider },
  ])('the errors of an SDK ($sdk.name) are known, however a bundle calls their classes', async ({ sdk, create }) => {
    await create({ name: 'model', baseUrl: 'http://127.0.0.1:1', apiKey: 'key', clock: systemClock }).warm?.();
    class Stopped extends sdk.APIUserAbortError {}
    class Late extends sdk.APIConnectionTimeoutError {}
    expect(classifyError(new Stopped(), CONTEXT).kind).toBe('aborted');
    expect(classifyError(new Late(), CONTEXT).kind).toBe('timeout');
  });

  test.each([['a string'], [undefined], [null], [42], [{}]])(
    'whatever is thrown (%j) becomes an error event',
    (thrown) => {
      expect(classifyError(thrown, CONTEXT)).toMatchObject({ type: 'error', kind: 'network' });
    },
  );
});

describe('messages', () => {
  test('a refused key names the one place that it was read from', () => {
    const context = { ...CONTEXT, provider: 'anthropic', keyVariable: 'ANTHROPIC_API_KEY' };
    expect(classifyError(said('invalid x-api-key', 401), context)).toMatchObject({
      message: 'anthropic refused the API key (401). Check ANTHROPIC_API_KEY.',
      setting: 'ANTHROPIC_API_KEY',
    });
    expect(classifyError(said('invalid x-api-key', 401), { ...context, keyVariable: null })).toMatchObject({
      message: 'anthropic refused the API key (401). Check providers.anthropic.apiKey.',
      setting: 'providers.anthropic.apiKey',
    });
  });

  test("a server of one's own is named with its host", () => {
    const context = { ...CONTEXT, provider: 'local', host: '127.0.0.1:8080', keyVariable: null };
    expect(classifyError(coded('ECONNREFUSED'), context).message).toBe(
      'local (127.0.0.1:8080) refused the connection: is the server running? Check providers.local.baseUrl and the network.',
    );
    expect(classifyError(said('No.', 401), context).message).toContain('Check providers.local.apiKey.');
  });

  test("the server's own words are shown where they help, on one line and not for ever", () => {
    const { message } = classifyError(said(`Unknown parameter:\n  "temperature" ${'x'.repeat(2000)}`), CONTEXT);
    expect(message).toContain(
      'did not accept the request for the model "gpt-9" (400): `Unknown parameter: "temperature"',
    );
    expect(message).not.toContain('\n');
    expect(message.length).toBeLessThan(450);
  });

  test('neither the key nor anything that looks like one is shown', () => {
    for (const quoted of [SECRET, 'sk-proj-abcdefgh12345678', 'Bearer abcdef', 'sk-ab**********xy']) {
      const { message } = classifyError(said(`Wrong ${quoted} here`), CONTEXT);
      expect(message).toContain('Wrong [hidden] here');
    }
  });

  test('HTML is not shown', () => {
    const thrown = Object.assign(new Error('400 <html><body>billing proxy</body></html>'), { status: 400 });
    expect(classifyError(thrown, CONTEXT).message).toBe(
      'openai did not accept the request for the model "gpt-9" (400).',
    );
  });
});
