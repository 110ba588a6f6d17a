import { checkToolSchema, checkUnicode, isBase64, isRecord, isText, Problems } from './validate.ts';

const BODY_KEYS = (
  'model instructions input tools tool_choice parallel_tool_calls max_output_tokens temperature top_p reasoning text ' +
  'store include stream stream_options metadata service_tier truncation prompt_cache_key safety_identifier'
).split(' ');
const NAME = /^[a-zA-Z0-9_-]{1,64}$/u;
const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,(?<data>.*)$/su;

/**
 * Which rules of the Responses API a request body breaks; empty for a legal one. Stricter than the API where an
 * assistant never needs the leniency: nothing stored, no references to stored items, ids unique in the transcript.
 */
export function validateResponsesRequest(body: unknown, extraKeys: readonly string[] = []): string[] {
  const problems = new Problems();
  if (!isRecord(body)) return ['body: must be a JSON object'];
  problems.keys(body, 'body', [...BODY_KEYS, ...extraKeys]);
  checkUnicode(problems, body, 'body');
  problems.must(isText(body['model']), 'model', 'must be a non-empty string');
  problems.must(body['instructions'] === undefined || isText(body['instructions']), 'instructions', 'must be text');
  problems.range(body['temperature'], 'temperature', { min: 0, max: 2 });
  problems.range(body['max_output_tokens'], 'max_output_tokens', { min: 16, max: 1_000_000, integer: true });
  problems.must(body['store'] === false, 'store', 'must be false: nothing is kept on the server');
  const include = body['include'];
  problems.must(
    Array.isArray(include) && include.includes('reasoning.encrypted_content'),
    'include',
    'must ask for reasoning.encrypted_content',
  );
  checkReasoning(problems, body['reasoning']);
  checkTools(problems, body);
  checkInput(problems, body['input']);
  return problems.found;
}

function checkReasoning(problems: Problems, reasoning: unknown): void {
  if (reasoning === undefined) return;
  if (!problems.must(isRecord(reasoning), 'reasoning', 'must be an object') || !isRecord(reasoning)) return;
  problems.keys(reasoning, 'reasoning', ['effort', 'summary']);
  problems.oneOf(reasoning['effort'], 'reasoning.effort', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);
  problems.oneOf(reasoning['summary'], 'reasoning.summary', ['auto', 'concise', 'detailed']);
}

function checkTools(problems: Problems, body: Record<string, unknown>): void {
  const { tools, tool_choice: choice } = body;
  problems.must(choice === undefined || tools !== undefined, 'tool_choice', 'is allowed only with tools');
  const names: string[] = [];
  if (tools !== undefined && problems.must(Array.isArray(tools), 'tools', 'must be a list') && Array.isArray(tools)) {
    for (const [index, tool] of tools.entries()) {
      const path = `tools[${index}]`;
      if (!isRecord(tool) || tool['type'] !== 'function') {
        problems.add(path, 'must be {type: "function", name, parameters, strict}');
        continue;
      }
      problems.keys(tool, path, ['type', 'name', 'description', 'parameters', 'strict']);
      problems.must(NAME.test(String(tool['name'])), `${path}.name`, `must match ${NAME.source}`);
      problems.must(!names.includes(String(tool['name'])), `${path}.name`, 'must be unique');
      problems.must(typeof tool['strict'] === 'boolean', `${path}.strict`, 'must be true or false');
      names.push(String(tool['name']));
      checkToolSchema(problems, tool['parameters'], `${path}.parameters`);
    }
  }
  if (isRecord(choice)) {
    problems.must(choice['type'] === 'function', 'tool_choice.type', 'must be "function"');
    problems.must(names.includes(String(choice['name'])), 'tool_choice', 'names a tool that is not offered');
  } else if (choice !== undefined) {
    problems.oneOf(choice, 'tool_choice', ['none', 'auto', 'required']);
  }
}

function checkInput(problems: Problems, input: unknown): void {
  if (!Array.isArray(input) || input.length === 0) {
    problems.add('input', 'must be a non-empty list of items');
    return;
  }
  const seen = new Set<string>();
  const open = new Set<string>();
  let afterReasoning = false;
  for (const [index, item] of input.entries()) {
    const path = `input[${index}]`;
    if (!problems.must(isRecord(item), path, 'must be an object') || !isRecord(item)) continue;
    const isOwn = item['role'] === 'assistant' || item['type'] === 'function_call' || item['type'] === 'reasoning';
    problems.must(isOwn || !afterReasoning, path, 'reasoning must be followed by what it led to');
    afterReasoning = item['type'] === 'reasoning';
    if (item['type'] !== 'function_call' && item['type'] !== 'function_call_output') {
      for (const id of open) problems.add(path, `the call "${id}" has no output before this`);
    }
    switch (item['type'] ?? 'message') {
      case 'message':
        checkMessage(problems, item, path);
        break;
      case 'reasoning':
        problems.keys(item, path, ['type', 'id', 'summary', 'encrypted_content']);
        problems.must(
          isText(item['encrypted_content']),
          `${path}.encrypted_content`,
          'must be there: nothing is stored',
        );
        break;
      case 'function_call': {
        problems.keys(item, path, ['type', 'call_id', 'name', 'arguments']);
        const id = item['call_id'];
        problems.must(isText(id) && id.length <= 64, `${path}.call_id`, 'must have 1 to 64 characters');
        problems.must(!seen.has(String(id)), `${path}.call_id`, `duplicate call id "${String(id)}"`);
        problems.must(NAME.test(String(item['name'])), `${path}.name`, `must match ${NAME.source}`);
        problems.must(isJsonObject(item['arguments']), `${path}.arguments`, 'must be a string holding a JSON object');
        seen.add(String(id));
        open.add(String(id));
        break;
      }
      case 'function_call_output':
        problems.keys(item, path, ['type', 'call_id', 'output']);
        problems.must(open.delete(String(item['call_id'])), `${path}.call_id`, 'answers no open call');
        checkContent(problems, item['output'], `${path}.output`);
        break;
      default:
        problems.add(`${path}.type`, `is not known: ${String(item['type'])}`);
    }
  }
  for (const id of open) problems.add('input', `the call "${id}" has no output`);
  const last: unknown = input.at(-1);
  const isAsking = isRecord(last) && (last['role'] === 'user' || last['type'] === 'function_call_output');
  problems.must(isAsking, 'input', 'the last item must come from the user or a tool');
}

function checkMessage(problems: Problems, item: Record<string, unknown>, path: string): void {
  problems.keys(item, path, ['type', 'role', 'content', ...(item['role'] === 'assistant' ? ['phase'] : [])]);
  problems.oneOf(item['role'], `${path}.role`, ['user', 'assistant', 'system', 'developer']);
  if (item['role'] === 'assistant') problems.must(isText(item['content']), `${path}.content`, 'must be text');
  else checkContent(problems, item['content'], `${path}.content`);
}

function checkContent(problems: Problems, content: unknown, path: string): void {
  if (typeof content === 'string') {
    problems.must(content !== '', path, 'must not be empty');
    return;
  }
  if (!Array.isArray(content) || content.length === 0) {
    problems.add(path, 'must be a string or a non-empty list');
    return;
  }
  for (const [index, part] of content.entries()) {
    const at = `${path}[${index}]`;
    if (isRecord(part) && part['type'] === 'input_text') {
      problems.keys(part, at, ['type', 'text']);
      problems.must(isText(part['text']), `${at}.text`, 'must be a non-empty string');
    } else if (isRecord(part) && part['type'] === 'input_image') {
      problems.keys(part, at, ['type', 'detail', 'image_url']);
      problems.must(isBase64(IMAGE.exec(String(part['image_url']))?.groups?.['data']), at, 'must be a base64 image');
    } else {
      problems.add(at, 'must be input_text or input_image');
    }
  }
}

function isJsonObject(text: unknown): boolean {
  try {
    return typeof text === 'string' && isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}
