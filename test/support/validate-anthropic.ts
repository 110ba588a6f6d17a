import { checkAnthropicCacheMarks } from './validate-anthropic-cache.ts';
import { checkAnthropicMessages } from './validate-anthropic-messages.ts';
import { checkToolSchema, checkUnicode, isRecord, isText, Problems, records } from './validate.ts';

const BODY_KEYS = (
  'model messages system max_tokens tools tool_choice stream temperature top_p top_k stop_sequences thinking metadata ' +
  'service_tier output_config cache_control container inference_geo'
).split(' ');

/**
 * Which rules of the Messages API a request body breaks; empty for a legal one. Stricter than the API where an
 * assistant never needs the leniency: roles alternate strictly, no prefill, no system messages in between.
 */
export function validateAnthropicRequest(body: unknown, extraKeys: readonly string[] = []): string[] {
  const problems = new Problems();
  if (!isRecord(body)) return ['body: must be a JSON object'];
  problems.keys(body, 'body', [...BODY_KEYS, ...extraKeys]);
  checkUnicode(problems, body, 'body');
  problems.must(isText(body['model']), 'model', 'must be a non-empty string');
  const limit = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true };
  problems.range(body['max_tokens'] ?? null, 'max_tokens', limit);
  checkSampling(problems, body);
  checkSystem(problems, body['system']);
  checkThinking(problems, body);
  const names = checkTools(problems, body['tools']);
  checkToolChoice(problems, body, names);
  const used = checkAnthropicMessages(problems, body['messages'], { thinking: thinkingType(body) === 'enabled' });
  problems.must(!used || names.length > 0, 'tools', 'must be given when messages hold tool_use or tool_result blocks');
  checkAnthropicCacheMarks(problems, body);
  return problems.found;
}

function checkSampling(problems: Problems, body: Record<string, unknown>): void {
  problems.range(body['temperature'], 'temperature', { min: 0, max: 1 });
  problems.range(body['top_p'], 'top_p', { min: 0, max: 1 });
  problems.range(body['top_k'], 'top_k', { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true });
  const { stream, stop_sequences: stops, metadata } = body;
  problems.must(stream === undefined || typeof stream === 'boolean', 'stream', 'must be true or false');
  problems.must(
    stops === undefined ||
      (Array.isArray(stops) && stops.every((text) => typeof text === 'string' && text.trim() !== '')),
    'stop_sequences',
    'must be a list of strings that are not blank',
  );
  if (metadata === undefined || !problems.must(isRecord(metadata), 'metadata', 'must be an object')) return;
  if (isRecord(metadata)) problems.keys(metadata, 'metadata', ['user_id']);
}

function checkSystem(problems: Problems, system: unknown): void {
  if (system === undefined) return;
  if (typeof system === 'string') {
    problems.must(system.trim() !== '', 'system', 'must not be empty');
    return;
  }
  if (!problems.must(Array.isArray(system), 'system', 'must be a string or a list of text blocks')) return;
  if (!Array.isArray(system)) return;
  for (const [index, block] of system.entries()) {
    const path = `system[${index}]`;
    if (!isRecord(block) || block['type'] !== 'text') {
      problems.add(path, 'must be a text block');
      continue;
    }
    problems.keys(block, path, ['type', 'text', 'cache_control']);
    const { text } = block;
    problems.must(typeof text === 'string' && text.trim() !== '', `${path}.text`, 'must hold more than white space');
  }
}

function thinkingType(body: Record<string, unknown>): unknown {
  return isRecord(body['thinking']) ? body['thinking']['type'] : undefined;
}

function checkThinking(problems: Problems, body: Record<string, unknown>): void {
  const { thinking, max_tokens: maxTokens, temperature, top_k: topK, top_p: topP, tool_choice: choice } = body;
  if (thinking === undefined) return;
  if (!problems.must(isRecord(thinking), 'thinking', 'must be an object') || !isRecord(thinking)) return;
  const { type, budget_tokens: budget } = thinking;
  if (!problems.oneOf(type, 'thinking.type', ['enabled', 'disabled', 'adaptive', 'between_tools'])) return;
  const withDisplay = type === 'enabled' || type === 'adaptive' ? ['type', 'display'] : ['type'];
  problems.keys(thinking, 'thinking', type === 'enabled' ? [...withDisplay, 'budget_tokens'] : withDisplay);
  if (type === 'enabled') {
    problems.range(budget ?? null, 'thinking.budget_tokens', {
      min: 1024,
      max: Number.MAX_SAFE_INTEGER,
      integer: true,
    });
    problems.must(
      typeof budget !== 'number' || typeof maxTokens !== 'number' || budget < maxTokens,
      'thinking.budget_tokens',
      'must be less than max_tokens',
    );
  }
  if (type === 'disabled') return;
  problems.must(temperature === undefined || temperature === 1, 'temperature', 'must be 1 or absent with thinking');
  problems.must(topK === undefined, 'top_k', 'must be absent with thinking');
  problems.must(topP === undefined || Number(topP) >= 0.95, 'top_p', 'must be at least 0.95 with thinking');
  const forced = isRecord(choice) && (choice['type'] === 'any' || choice['type'] === 'tool');
  problems.must(!forced, 'tool_choice', 'must not force a tool with thinking');
}

function checkTools(problems: Problems, tools: unknown): readonly string[] {
  if (tools === undefined) return [];
  if (!problems.must(Array.isArray(tools), 'tools', 'must be a list') || !Array.isArray(tools)) return [];
  const names: string[] = [];
  for (const [index, tool] of tools.entries()) {
    const path = `tools[${index}]`;
    if (!problems.must(isRecord(tool), path, 'must be an object') || !isRecord(tool)) continue;
    problems.keys(tool, path, ['name', 'description', 'input_schema', 'cache_control', 'type', 'strict']);
    const { name, description, input_schema: schema } = tool;
    problems.must(
      typeof name === 'string' && /^[a-zA-Z0-9_-]{1,128}$/u.test(name),
      `${path}.name`,
      'must match ^[a-zA-Z0-9_-]{1,128}$',
    );
    problems.must(!names.includes(String(name)), `${path}.name`, `duplicate tool name "${String(name)}"`);
    names.push(String(name));
    problems.must(
      description === undefined || typeof description === 'string',
      `${path}.description`,
      'must be a string',
    );
    checkToolSchema(problems, schema, `${path}.input_schema`);
    const union = ['oneOf', 'allOf', 'anyOf'].find((key) => isRecord(schema) && key in schema);
    problems.must(union === undefined, `${path}.input_schema`, `${union} is not allowed at the top level`);
  }
  return names;
}

function checkToolChoice(problems: Problems, body: Record<string, unknown>, names: readonly string[]): void {
  const { tool_choice: choice } = body;
  if (choice === undefined) return;
  problems.must(records(body['tools']).length > 0, 'tool_choice', 'is allowed only with tools');
  if (!problems.must(isRecord(choice), 'tool_choice', 'must be an object') || !isRecord(choice)) return;
  const { type, name } = choice;
  if (!problems.oneOf(type, 'tool_choice.type', ['auto', 'any', 'tool', 'none'])) return;
  const keys = type === 'none' ? ['type'] : ['type', 'disable_parallel_tool_use'];
  problems.keys(choice, 'tool_choice', type === 'tool' ? [...keys, 'name'] : keys);
  if (type !== 'tool') return;
  problems.must(names.includes(String(name)), 'tool_choice', `names a tool that is not offered: "${String(name)}"`);
}
