import { describe, expect, test } from 'vitest';
import { classifyError, type ErrorContext } from '../../src/core/providers/errors.ts';
import { createOpenAiProvider } from '../../src/extensions/openai/chat.ts';
import type { ModelErrorKind } from '../../src/core/providers/provider.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { ask, DIALECTS, errorOf, hear, HELLO } from './dialects.ts';

const NOW = Date.UTC(2026, 10, 28, 12);
const CONTEXT: ErrorContext = {
  provider: 'local',
  host: '127.0.0.1:8080',
  model: 'm',
  toolChoice: 'auto',
  keyVariable: null,
  secrets: [],
  now: NOW,
};

const answered = (status: number, error: object) =>
  classifyError(Object.assign(new Error(`${status}`), { status, error, headers: new Headers() }), CONTEXT);

/** Who says it, with which status, in which words, and with which code or type. */
type Wording = readonly [who: string, status: number, message: string, more?: Readonly<Record<string, unknown>>];

const WORDINGS: Readonly<Partial<Record<ModelErrorKind, readonly Wording[]>>> = {
  'context-overflow': [
    [
      'OpenAI',
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    ],
    [
      'OpenAI, newer',
      400,
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000.',
    ],
    [
      'OpenAI, a minute',
      429,
      'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000.',
      { code: 'rate_limit_exceeded' },
    ],
    [
      'Groq, a minute',
      413,
      'Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9100, please reduce your message size and try again.',
      { code: 'rate_limit_exceeded' },
    ],
    ['Groq', 400, 'Please reduce the length of the messages or completion.', { type: 'invalid_request_error' }],
    ['Anthropic', 400, 'prompt is too long: 210000 tokens > 200000 maximum'],
    ['Bedrock', 400, 'Input is too long for requested model.'],
    [
      'Vertex',
      400,
      'Unable to submit request because the input token count is 150000 but model only supports up to 131072.',
    ],
    ['Gemini', 500, 'An unexpected error occurred on our side. Your input context is too long.'],
    [
      'Together and TGI',
      422,
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 512 `max_new_tokens`',
    ],
    ['TGI', 422, 'Input validation error: `inputs` must have less than 4095 tokens. Given: 5000'],
    ['Fireworks', 400, 'The prompt is too long: 140000, model maximum context length: 131071'],
    ['Mistral', 400, 'Prompt contains 65673 tokens, too large for model with 32768 maximum context length'],
    ['Qwen', 400, '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]'],
    [
      'Kimi',
      400,
      'Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)',
      { type: 'invalid_request_error' },
    ],
    ['Kimi, older', 400, 'Input token length too long'],
    ['Z.ai', 400, 'Prompt exceeds max length', { code: '1261' }],
    ['Zhipu', 400, 'Prompt 超长', { code: '1261' }],
    ['xAI', 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
    [
      'OpenRouter',
      400,
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.",
    ],
    [
      'LiteLLM',
      400,
      'litellm.ContextWindowExceededError: litellm.BadRequestError: the request was refused',
      { code: '400' },
    ],
    ['Cohere', 400, 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.'],
    ['vLLM', 400, 'The decoder prompt (length 9000) is longer than the maximum model length of 8192.'],
    ['SGLang', 400, 'Input length (265330 tokens) exceeds the maximum allowed length (262144 tokens).'],
    [
      'LM Studio',
      400,
      'Trying to keep the first 6273 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
    ],
    ['LM Studio, older', 400, 'Cannot truncate prompt with n_keep (6273) >= n_ctx (4096)'],
    ['Ollama', 400, 'prompt too long; exceeded max context length by 9 tokens'],
    [
      'llama.cpp',
      400,
      'request (6273 tokens) exceeds the available context size (4096 tokens), try increasing it',
      { type: 'exceed_context_size_error' },
    ],
    ['llama.cpp, older', 500, 'Input prompt is too big compared to KV size. Please try increasing KV size.'],
    ['MiniMax', 400, 'invalid params, context window exceeds limit (2013)'],
    [
      'Copilot',
      400,
      'prompt token count of 51808 exceeds the limit of 12288',
      { code: 'model_max_prompt_tokens_exceeded' },
    ],
  ],
  'bad-request': [
    ['llama.cpp', 500, 'Jinja Exception: Conversation roles must alternate'],
    ['llama.cpp behind a proxy', 503, 'Jinja Exception: Conversation roles must alternate'],
    ['a gateway', 429, 'Jinja Exception: Only user, assistant and system roles are supported!'],
    ['llama.cpp', 500, 'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]'],
    ['llama.cpp', 400, 'This model only supports single tool-calls at once!'],
    ['a server that calls it its own fault', 500, 'The field was refused.', { type: 'invalid_request_error' }],
    ['Ollama', 500, 'model requires more system memory (5.6 GiB) than is available (3.1 GiB)'],
    ['vLLM', 500, 'CUDA out of memory. Tried to allocate 2.00 GiB'],
    ['Ollama', 500, 'unable to load model: /root/.ollama/models/blobs/sha256-1'],
    ['Ollama', 500, 'llama runner process has terminated: error loading model hyperparameters: key not found in model'],
    ['LM Studio', 400, 'No models loaded. Please load a model in the developer page or use the `lms load` command.'],
    ['OpenAI', 404, 'The model `m` does not exist or you do not have access to it.', { code: 'model_not_found' }],
    ['OpenRouter', 400, 'm is not a valid model ID'],
    ['a workspace', 400, 'Model access blocked by policy of your workspace.'],
    ['a server of files', 400, 'invalid file id: file-123'],
    ['a firewall', 403, 'The request was blocked by a Cloudflare security policy.'],
    ['vLLM', 400, 'max_tokens is too large: 999999'],
    ['Zhipu', 400, '模型不存在，请注意模型名称大小写敏感'],
  ],
  auth: [
    ['a proxy of a company', 403, 'Access has been blocked by Conditional Access policies.'],
    ['Anthropic', 400, 'This organization has been disabled.', { type: 'invalid_request_error' }],
    ['Gemini', 400, 'API key expired. Please renew the API key.', { code: 400 }],
    ['a gateway', 403, 'Your API key is not permitted to change the content filter.'],
    ['a gateway', 403, 'You do not have access to the moderation model.'],
    ['a gateway', 403, 'Missing permissions: model.request', { code: 'moderation_scope_missing' }],
    ['OpenAI', 403, 'You are not allowed to sample from this model.', { type: 'invalid_request_error' }],
    ['a bank', 403, 'Your account has been flagged for review. Contact support.'],
    ['OpenAI', 400, 'Your organization must be verified to use this model.'],
    ['DashScope', 400, 'Account not verified.'],
    ['a cloud', 400, 'Region not enabled for this model.'],
    ['Gemini elsewhere', 400, 'User location is not supported for the API use.', { code: 400 }],
  ],
  refusal: [
    ['DashScope', 400, 'Output data may contain inappropriate content.', { code: 'data_inspection_failed' }],
    ['DeepSeek', 400, 'Content Exists Risk', { type: 'invalid_request_error' }],
    ['Zhipu', 400, '系统检测到输入或生成内容可能包含不安全或敏感内容', { code: '1301' }],
    ['a gateway', 403, 'The request was blocked by content policy.'],
    ['a gateway', 403, 'Forbidden.', { code: 'content_filter' }],
    ['a gateway', 403, 'Forbidden.', { type: 'moderation' }],
    ['OpenRouter', 403, 'm requires moderation on OpenAI. Your input was flagged for "violence".', { code: 403 }],
    [
      'xAI',
      403,
      'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
      { code: 'permission-denied' },
    ],
    ['a gateway', 421, 'Misdirected.', { code: 'content_filter' }],
    ['a gateway', 421, 'Input was blocked.'],
    ['a gateway', 424, 'Prompt blocked due to security configurations'],
    ['LiteLLM', 400, 'litellm.ContentPolicyViolationError: no.'],
    ['a gateway', 400, 'Your prompt may contain disallowed content.'],
    ['Azure', 400, 'Blocked by prompt shield: jailbreak detected.'],
    ['Baidu', 400, '内容违规'],
  ],
  'rate-limit': [
    [
      'OpenAI',
      429,
      'Rate limit reached for m on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.',
      { code: 'rate_limit_exceeded' },
    ],
    ['Bedrock', 429, 'Too many tokens, please wait before trying again.'],
    ['Z.ai', 429, 'Usage limit reached for 5 hour. Your limit will reset at 2026-11-28 21:00:00', { code: '1308' }],
    [
      'Gemini',
      429,
      'You exceeded your current quota, please check your plan and billing details. Please retry in 41.2s.',
      { status: 'RESOURCE_EXHAUSTED' },
    ],
    [
      'Kimi',
      429,
      'Your account reached max organization concurrency: 3, please try again after 1 seconds',
      { type: 'rate_limit_reached_error' },
    ],
  ],
  quota: [
    [
      'Kimi',
      429,
      'Your account is suspended, please check your plan and billing details',
      { type: 'exceeded_current_quota_error' },
    ],
    ['OpenAI', 429, 'You exceeded your current quota, please check your plan.', { code: 'insufficient_quota' }],
    ['Z.ai', 429, 'Insufficient balance or no resource package. Please recharge.', { code: '1113' }],
    ['Gemini without a free tier', 429, 'You exceeded your current quota. limit: 0, model: m. Please retry in 41.2s.'],
    ['LiteLLM', 400, 'Budget has been exceeded! Current cost: 1.0, Max budget: 1.0', { type: 'budget_exceeded' }],
    ['a gateway', 400, 'The account is past due.'],
    ['OpenAI', 400, 'Your account is not active, please check your billing details on our website.'],
    ['Anthropic', 400, 'You have reached your specified API usage limits.', { type: 'invalid_request_error' }],
  ],
  malformed: [
    [
      'Groq',
      400,
      "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
      { code: 'tool_use_failed' },
    ],
    ['Groq', 400, "Tool call validation failed: attempted to call tool 'x' which was not in request.tools"],
    ['llama.cpp', 500, 'The model produced output that does not match the expected peg-native format'],
    ['Ollama', 500, "error parsing tool call: raw='{', err=unexpected end of JSON input"],
  ],
  overloaded: [
    [
      'OpenAI',
      500,
      'The server had an error while processing your request. Sorry about that!',
      { type: 'server_error' },
    ],
    ['Anthropic', 529, 'Overloaded', { type: 'overloaded_error' }],
    ['llama.cpp', 503, 'Loading model', { type: 'unavailable_error' }],
    ['LM Studio', 400, 'The model has crashed without additional information. (Exit code: 6)'],
    ['a proxy', 503, 'no healthy upstream'],
    ['a proxy', 502, 'Request too long: upstream timed out'],
    ['a proxy', 503, 'request too long in queue, please retry'],
    ['a proxy', 502, 'upstream returned invalid JSON'],
    ['a proxy', 500, 'Internal error: a database connection is required'],
    ['a proxy', 500, 'panic: must be a valid state'],
    ['a proxy', 503, 'unknown model state: the worker is starting, please retry'],
    ['a filter that is down', 503, 'The content moderation service is temporarily unavailable, please try again.'],
    ['a filter that is slow', 500, 'content filter timed out'],
    ['a filter that is slow', 400, 'Content filter timed out'],
    ['a filter that fails', 500, 'content_filter internal error'],
    ['a gateway', 400, 'Model is overloaded'],
    ['a gateway', 400, 'Unable to process your request at this time'],
    ['Ollama', 500, 'llama runner process has terminated: invalid file magic'],
    ['a server with a limit per minute', 500, 'the request exceeds the maximum number of tokens per minute'],
  ],
};

const ROWS = Object.entries(WORDINGS).flatMap(([kind, rows]) =>
  rows.map(([who, status, message, more = {}]) => ({ kind, who, status, message, more })),
);

describe('what servers say', () => {
  test.each(ROWS)('is $kind: $who ($status) “$message”', ({ kind, status, message, more }) => {
    const error = answered(status, { message, ...more });
    expect(error.kind).toBe(kind);
    expect(error.retryable).toBe(['rate-limit', 'overloaded', 'malformed'].includes(kind));
    expect(error.message).toMatch(/[^,;]\.$|\/new\.$/u);
    expect(error.message).not.toMatch(/,\.|\.\./u);
  });

  test.each([',.', 'Not found,.', 'No such thing:', '...', ' ; ', '[x](https://evil.example),.'])(
    'ends its sentence well, whatever the message ends with: “%s”',
    (message) => {
      for (const status of [400, 401, 402, 403, 404, 413, 418, 429, 500, 503]) {
        const { message: told } = answered(status, { message });
        expect(told.replaceAll('`', '')).not.toMatch(/[,;:.]\s*[,;:.]|[,;:]$/u);
        expect(told.replaceAll(/`[^`]*`/gu, '')).not.toContain('](');
        expect(told).not.toContain('``');
      }
    },
  );

  test.each([
    [429, 'Daily token limit exceeded for your plan.'],
    [429, 'Monthly token limit exceeded. Please upgrade your plan.'],
    [429, 'You have used the maximum number of tokens for today.'],
    [429, 'Weekly limit: too many tokens'],
    [400, 'Daily token limit exceeded for your plan.'],
    [403, 'The monthly limit of this key is exceeded.'],
    [500, 'Token limit exceeded: 1000000 tokens per day'],
  ])('a limit that stays closed for hours is not one on the size of a request: %i “%s”', (status, message) => {
    expect(answered(status, { message })).toMatchObject({ kind: 'rate-limit', retryable: false });
  });

  test('a limit of the account that names its end is waited for', () => {
    const message =
      'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.';
    expect(answered(400, { type: 'invalid_request_error', message })).toMatchObject({
      kind: 'rate-limit',
      retryAfterMs: Date.UTC(2026, 11, 1) - NOW,
    });
  });

  test.each([
    [403, 'Access has been blocked by Conditional Access policies.', 'denied access to the model "m" (403): '],
    [400, 'This organization has been disabled.', 'denied access to the model "m" (400): '],
    [400, 'API key expired. Please renew the API key.', 'refused the API key (400).'],
  ])('a denied access is told in the words of the server: %i “%s”', (status, message, told) => {
    expect(answered(status, { message }).message).toContain(told);
  });

  test.each([
    [{ message: 'Please try again in 1m23.5s.' }, 83_500],
    [{ message: 'Rate limit reached. Please try again in 820ms.' }, 820],
    [{ message: 'Please retry in 41.065029449s.' }, 41_066],
    [{ message: 'Please try again after 2 minutes' }, 120_000],
    [{ message: 'x', details: [{ '@type': 'RetryInfo', retryDelay: '14s' }] }, 14_000],
    [{ message: 'x', resets_in_seconds: 90 }, 90_000],
    [{ message: 'x', resets_at: NOW / 1000 + 60 }, 60_000],
    [{ message: 'x', metadata: { headers: { 'X-RateLimit-Reset': String(NOW + 5000) } } }, 5000],
    // Zhipu's own time is China's.
    [{ code: '1308', message: 'Your limit will reset at 2026-11-28 21:00:00' }, 3_600_000],
    [{ code: '1308', message: '将在 2026-11-28 21:00:00 重置' }, 3_600_000],
    // That would be past, so it was meant another way.
    [{ code: '1308', message: 'Your limit will reset at 2026-11-28 13:00:00' }, 3_600_000],
    [{ message: 'Your limit will reset at 2026-11-28T13:00:00Z' }, 3_600_000],
    [{ message: 'Resets at 2026-11-28 14:00:00+01:00' }, 3_600_000],
  ])('names a wait: %j', (error, wait) => {
    expect(answered(429, error).retryAfterMs).toBe(wait);
  });

  test('names no wait in a date that is past, and a limit of a day is not tried again soon', () => {
    const error = answered(429, {
      message: 'Rate limit exceeded: free-models-per-day. It reset at 2026-11-20 00:00:00.',
    });
    expect(error).toMatchObject({ kind: 'rate-limit', retryable: false });
    expect(error).not.toHaveProperty('retryAfterMs');
  });

  test.each([
    '[{"error":{"code":400,"message":"Words of it."}}]',
    '{"object":"error","message":"Words of it."}',
    '{"detail":[{"loc":["body"],"msg":"Words of it."}]}',
    'Words of it.',
    '{"error":{"message":"Provider returned error","metadata":{"raw":"{\\"error\\":{\\"message\\":\\"Words of it.\\"}}"}}}',
  ])('is read wherever a server puts it: %s', async (body) => {
    await using server = await startFakeOpenAi({ expectViolations: true });
    server.reply({ error: { status: 400, body } });
    const provider = createOpenAiProvider({ name: 'local', apiKey: null, baseUrl: server.url, clock: systemClock });
    expect(errorOf(await hear(provider, HELLO)).said).toContain('Words of it.');
  });
});

describe.each(DIALECTS)('$name', (dialect) => {
  test.each([500, 503, 429, 400])(
    'what is refused with %i is said in the words of the server, once',
    async (status) => {
      const message = 'Jinja Exception: [Only](https://evil.example) user roles are supported!';
      const error = errorOf(await ask(dialect, { error: { status, message, type: 'server_error' } }));
      expect(error).toMatchObject({ kind: 'bad-request', retryable: false, said: message, about: 'model' });
      expect(error.message).toContain(`: \`${message}\`.`);
    },
  );

  test('an error of the server itself has its words too', async () => {
    const error = errorOf(await ask(dialect, { error: { status: 500, message: 'disk I/O error in slot 3' } }));
    expect(error).toMatchObject({ kind: 'overloaded', retryable: true, said: 'disk I/O error in slot 3' });
  });
});

test.each([
  [503, 'Loading model', 'loading'],
  [503, 'Model org/m is currently loading', 'loading'],
  [500, 'error loading model /root/m.gguf', 'model'],
  [500, 'failed to load model', 'model'],
])('%i “%s” is about: %s', (status, message, about) => {
  expect(answered(status, { message, type: 'unavailable_error' })).toMatchObject({ about });
});

test.each([
  [
    'vLLM',
    "This model's maximum context length is 4096 tokens. However, you requested 8192 tokens (6000 in the messages, 2192 in the completion).",
  ],
  [
    'vLLM, newer',
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 6000 input tokens (8192 > 4096 - 6000).",
  ],
  [
    'vLLM, prompt',
    'The decoder prompt (length 6273) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
  ],
  [
    'LM Studio',
    'Trying to keep the first 6273 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
  ],
  ['SGLang', "The input (6273 tokens) is longer than the model's context length (4096 tokens)."],
  [
    'SGLang, with the answer',
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 8465 tokens: 6273 tokens from the input messages and 2192 tokens for the completion.",
  ],
  [
    'LiteLLM',
    "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - This model's maximum context length is 4096 tokens. However, your messages resulted in 6273 tokens.",
  ],
  ['llama.cpp', 'request (6273 tokens) exceeds the available context size (4096 tokens), try increasing it'],
  [
    'vLLM, newest',
    "You passed 6273 input tokens and requested 512 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3584 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=6273)",
  ],
  [
    'TGI',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 6273 `inputs` tokens and 512 `max_new_tokens`',
  ],
  [
    'Anthropic',
    'input length and `max_tokens` exceed context limit: 3000 + 2192 > 4096, decrease input length or `max_tokens` and try again',
  ],
  ['Anthropic, prompt', 'prompt is too long: 6273 tokens > 4096 maximum'],
  ['Mistral', 'Prompt contains 6273 tokens, too large for model with 4096 maximum context length'],
  ['Gemini', 'The input token count (6273) exceeds the maximum number of tokens allowed (4096).'],
  ['Kimi', 'Invalid request: Your request exceeded model token limit: 4096 (requested: 6273)'],
  ['SGLang, truncating', 'Input length (6273 tokens) exceeds the maximum allowed length (4096 tokens).'],
  ['Copilot', 'prompt token count of 6273 exceeds the limit of 4096'],
  ['TabbyAPI', 'Prompt length 6273 is greater than max_seq_len 4096'],
  ['a proxy', 'The prompt (6273 tokens) exceeds max_model_len (4096)'],
])('the window is read from what %s says', (_, message) => {
  for (const status of [400, 413, 422, 500]) {
    const error = answered(status, { message });
    expect(error).toMatchObject({ kind: 'context-overflow', window: { tokens: 4_096 } });
    // What it counted in the prompt, where it says so.
    expect([undefined, 6_000, 6_273]).toContain(error.window?.asked);
  }
});
