import { checkOpenAiMessages } from './validate-openai-messages.ts';
import { checkToolSchema, checkUnicode, isRecord, isText, Problems } from './validate.ts';

const BODY_KEYS = (
  'model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens ' +
  'temperature top_p n stop seed frequency_penalty presence_penalty logit_bias logprobs top_logprobs user ' +
  'response_format reasoning_effort verbosity store metadata service_tier modalities prediction safety_identifier ' +
  'prompt_cache_key prompt_cache_retention prompt_cache_options audio web_search_options'
).split(' ');
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * Which rules of the Chat Completions API a request body breaks; empty for a legal one. Stricter than the API where
 * an assistant never needs the leniency: no deprecated functions, no prefill, ids unique in the whole transcript.
 */
export function validateOpenAiRequest(body: unknown, extraKeys: readonly string[] = []): string[] {
  const problems = new Problems();
  if (!isRecord(body)) return ['body: must be a JSON object'];
  problems.keys(body, 'body', [...BODY_KEYS, ...extraKeys]);
  checkUnicode(problems, body, 'body');
  problems.must(isText(body['model']), 'model', 'must be a non-empty string');
  checkNumbers(problems, body);
  checkStream(problems, body);
  const names = checkTools(problems, body);
  checkToolChoice(problems, body, names);
  checkOpenAiMessages(problems, body['messages']);
  return problems.found;
}

function checkNumbers(problems: Problems, body: Record<string, unknown>): void {
  problems.range(body['temperature'], 'temperature', { min: 0, max: 2 });
  problems.range(body['top_p'], 'top_p', { min: 0, max: 1 });
  problems.range(body['frequency_penalty'], 'frequency_penalty', { min: -2, max: 2 });
  problems.range(body['presence_penalty'], 'presence_penalty', { min: -2, max: 2 });
  problems.range(body['n'], 'n', { min: 1, max: 128, integer: true });
  const limit = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true };
  problems.range(body['max_tokens'], 'max_tokens', limit);
  problems.range(body['max_completion_tokens'], 'max_completion_tokens', limit);
  problems.must(
    body['max_tokens'] === undefined || body['max_completion_tokens'] === undefined,
    'max_tokens',
    'must not stand beside max_completion_tokens',
  );
  if (body['reasoning_effort'] !== undefined) problems.oneOf(body['reasoning_effort'], 'reasoning_effort', EFFORTS);
  const { stop } = body;
  const stops = Array.isArray(stop) ? stop : [stop];
  problems.must(
    stop === undefined || (stops.length >= 1 && stops.length <= 4 && stops.every(isText)),
    'stop',
    'must be a string or a list of one to four strings',
  );
}

function checkStream(problems: Problems, body: Record<string, unknown>): void {
  const { stream, stream_options: options } = body;
  problems.must(stream === undefined || typeof stream === 'boolean', 'stream', 'must be true or false');
  if (options === undefined) return;
  problems.must(stream === true, 'stream_options', 'is allowed only with stream: true');
  if (!problems.must(isRecord(options), 'stream_options', 'must be an object') || !isRecord(options)) return;
  problems.keys(options, 'stream_options', ['include_usage', 'include_obfuscation']);
  for (const [key, value] of Object.entries(options)) {
    problems.must(typeof value === 'boolean', `stream_options.${key}`, 'must be true or false');
  }
}

function checkTools(problems: Problems, body: Record<string, unknown>): readonly string[] {
  const { tools } = body;
  if (tools === undefined) return [];
  const holds = Array.isArray(tools) && tools.length >= 1 && tools.length <= 128;
  if (!problems.must(holds, 'tools', 'must be a list of 1 to 128 tools') || !Array.isArray(tools)) return [];
  const names: string[] = [];
  for (const [index, tool] of tools.entries()) {
    const path = `tools[${index}]`;
    if (!isRecord(tool) || tool['type'] !== 'function' || !isRecord(tool['function'])) {
      problems.add(path, 'must be {type: "function", function: {…}}');
      continue;
    }
    problems.keys(tool, path, ['type', 'function']);
    const { name, description, parameters, strict } = tool['function'];
    problems.keys(tool['function'], `${path}.function`, ['name', 'description', 'parameters', 'strict']);
    checkName(problems, name, `${path}.function.name`);
    problems.must(!names.includes(String(name)), `${path}.function.name`, `duplicate tool name "${String(name)}"`);
    names.push(String(name));
    problems.must(
      description === undefined || typeof description === 'string',
      `${path}.function.description`,
      'must be a string',
    );
    problems.must(
      strict === undefined || typeof strict === 'boolean' || strict === null,
      `${path}.function.strict`,
      'must be true or false',
    );
    if (parameters !== undefined) checkToolSchema(problems, parameters, `${path}.function.parameters`);
  }
  return names;
}

function checkToolChoice(problems: Problems, body: Record<string, unknown>, names: readonly string[]): void {
  const { tool_choice: choice, parallel_tool_calls: parallel, tools } = body;
  if (parallel !== undefined) {
    problems.must(typeof parallel === 'boolean', 'parallel_tool_calls', 'must be true or false');
    problems.must(tools !== undefined, 'parallel_tool_calls', 'is allowed only with tools');
  }
  if (choice === undefined) return;
  problems.must(tools !== undefined, 'tool_choice', 'is allowed only with tools');
  if (typeof choice === 'string') {
    problems.oneOf(choice, 'tool_choice', ['none', 'auto', 'required']);
    return;
  }
  const named = isRecord(choice) && choice['type'] === 'function' && isRecord(choice['function']);
  if (!problems.must(named, 'tool_choice', 'must be a word or {type: "function", function: {name}}')) return;
  if (!isRecord(choice) || !isRecord(choice['function'])) return;
  const name = String(choice['function']['name']);
  problems.must(names.includes(name), 'tool_choice', `names a tool that is not offered: "${name}"`);
}

function checkName(problems: Problems, name: unknown, path: string): void {
  problems.must(
    typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/u.test(name),
    path,
    'must match ^[a-zA-Z0-9_-]{1,64}$',
  );
}
