import { isBase64, isRecord, isText, type Problems } from './validate.ts';

const MESSAGE_KEYS: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'refusal', 'tool_calls', 'reasoning_content'],
  tool: ['role', 'content', 'tool_call_id'],
};
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Checks the transcript: each message by itself, then that calls and their results belong together. */
export function checkOpenAiMessages(problems: Problems, messages: unknown): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    problems.add('messages', 'must be a non-empty list');
    return;
  }
  const calls = new CallLedger(problems);
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (!problems.must(isRecord(message), path, 'must be an object') || !isRecord(message)) continue;
    const role = String(message['role']);
    const keys = Object.hasOwn(MESSAGE_KEYS, role) ? MESSAGE_KEYS[role] : undefined;
    if (keys === undefined) {
      problems.add(`${path}.role`, `must be one of ${Object.keys(MESSAGE_KEYS).join(', ')}`);
      continue;
    }
    problems.keys(message, path, keys);
    checkContent(problems, message, path);
    if (role === 'tool') {
      calls.answer(message['tool_call_id'], path);
      continue;
    }
    calls.closeBefore(path);
    if (role === 'assistant') checkAssistant(problems, message, path, calls);
  }
  calls.closeBefore('the end');
  const last: unknown = messages.at(-1);
  const lastRole = isRecord(last) ? last['role'] : undefined;
  problems.must(
    lastRole === 'user' || lastRole === 'tool',
    'messages',
    'the last message must come from the user or a tool',
  );
}

/** Follows which calls of the assistant message before are still to be answered. */
class CallLedger {
  readonly #problems: Problems;
  readonly #seen = new Set<string>();
  #group = new Set<string>();
  #open = new Set<string>();

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  start(ids: readonly unknown[], path: string): void {
    this.#group = new Set();
    for (const [index, id] of ids.entries()) {
      const at = `${path}.tool_calls[${index}].id`;
      if (!this.#problems.must(isText(id), at, 'must be a non-empty string') || !isText(id)) continue;
      this.#problems.must(id.length <= 40, at, 'must have at most 40 characters');
      this.#problems.must(!this.#seen.has(id), at, `duplicate tool call id "${id}"`);
      this.#seen.add(id);
      this.#group.add(id);
    }
    this.#open = new Set(this.#group);
  }

  answer(id: unknown, path: string): void {
    const at = `${path}.tool_call_id`;
    if (!this.#problems.must(isText(id), at, 'must be a non-empty string') || !isText(id)) return;
    if (this.#open.delete(id)) return;
    this.#problems.add(
      at,
      this.#group.has(id)
        ? `second result for the call "${id}"`
        : `answers no call of the assistant message before: "${id}"`,
    );
  }

  /** Any other message than a result ends the group. */
  closeBefore(path: string): void {
    for (const id of this.#open) this.#problems.add(path, `the tool call "${id}" has no result before this`);
    this.#open = new Set();
    this.#group = new Set();
  }
}

function checkAssistant(
  problems: Problems,
  message: Readonly<Record<string, unknown>>,
  path: string,
  ledger: CallLedger,
): void {
  const { tool_calls: calls, reasoning_content: reasoning } = message;
  problems.must(
    reasoning === undefined || typeof reasoning === 'string',
    `${path}.reasoning_content`,
    'must be a string',
  );
  if (calls === undefined) return;
  if (!Array.isArray(calls) || calls.length === 0) {
    problems.add(`${path}.tool_calls`, 'must be a non-empty list, or be left out');
    return;
  }
  for (const [index, call] of calls.entries()) checkCall(problems, call, `${path}.tool_calls[${index}]`);
  ledger.start(
    calls.map((call: unknown) => (isRecord(call) ? call['id'] : undefined)),
    path,
  );
}

function checkCall(problems: Problems, call: unknown, path: string): void {
  if (!isRecord(call) || call['type'] !== 'function' || !isRecord(call['function'])) {
    problems.add(path, 'must be {id, type: "function", function: {name, arguments}}');
    return;
  }
  problems.keys(call, path, ['id', 'type', 'function']);
  problems.keys(call['function'], `${path}.function`, ['name', 'arguments']);
  const { name, arguments: text } = call['function'];
  problems.must(
    typeof name === 'string' && /^[a-zA-Z0-9_-]{1,64}$/u.test(name),
    `${path}.function.name`,
    'must match ^[a-zA-Z0-9_-]{1,64}$',
  );
  problems.must(isJsonObject(text), `${path}.function.arguments`, 'must be a string holding a JSON object');
}

function isJsonObject(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

function checkContent(problems: Problems, message: Readonly<Record<string, unknown>>, path: string): void {
  const { role, content, tool_calls: calls } = message;
  const at = `${path}.content`;
  if (role === 'assistant' && (content === undefined || content === null || content === '')) {
    problems.must(Array.isArray(calls) && calls.length > 0, at, 'an assistant message needs content or tool calls');
    return;
  }
  if (typeof content === 'string') {
    problems.must(content !== '' || role === 'tool', at, 'must not be empty');
    return;
  }
  if (!Array.isArray(content) || content.length === 0) {
    problems.add(at, 'must be a string or a non-empty list of parts');
    return;
  }
  for (const [index, part] of content.entries()) checkPart(problems, part, role, `${at}[${index}]`);
}

function checkPart(problems: Problems, part: unknown, role: unknown, path: string): void {
  if (!problems.must(isRecord(part), path, 'must be an object') || !isRecord(part)) return;
  switch (part['type']) {
    case 'text':
      problems.keys(part, path, ['type', 'text', 'prompt_cache_breakpoint']);
      problems.must(isText(part['text']), `${path}.text`, 'must be a non-empty string');
      return;
    case 'image_url':
      problems.must(role === 'user', path, 'only user messages may hold images');
      problems.keys(part, path, ['type', 'image_url', 'prompt_cache_breakpoint']);
      checkImage(problems, part['image_url'], `${path}.image_url`);
      return;
    case 'refusal':
      problems.must(role === 'assistant', path, 'only assistant messages may hold refusals');
      problems.must(isText(part['refusal']), `${path}.refusal`, 'must be a non-empty string');
      return;
    default:
      problems.add(`${path}.type`, `a ${String(role)} message may not hold a part of type ${String(part['type'])}`);
  }
}

function checkImage(problems: Problems, image: unknown, path: string): void {
  if (!problems.must(isRecord(image), path, 'must be {url, detail?}') || !isRecord(image)) return;
  problems.keys(image, path, ['url', 'detail']);
  if (image['detail'] !== undefined) problems.oneOf(image['detail'], `${path}.detail`, ['auto', 'low', 'high']);
  const url = typeof image['url'] === 'string' ? image['url'] : '';
  if (url.startsWith('https://') || url.startsWith('http://')) return;
  const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/su.exec(url) ?? [];
  if (!problems.must(mediaType !== undefined, `${path}.url`, 'must be a web address or a base64 data URL')) return;
  problems.oneOf(mediaType, `${path}.url`, IMAGE_TYPES);
  problems.must(isBase64(data), `${path}.url`, 'must hold valid base64');
}
