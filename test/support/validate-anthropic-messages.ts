import { checkAnthropicBlock } from './validate-anthropic-blocks.ts';
import { isRecord, isText, records, type Problems } from './validate.ts';

const ID_PATTERN = /^[a-zA-Z0-9_-]+$/u;

/** Checks the transcript; returns whether it holds tool calls or results. */
export function checkAnthropicMessages(
  problems: Problems,
  messages: unknown,
  options: { readonly thinking: boolean },
): boolean {
  if (!Array.isArray(messages) || messages.length === 0) {
    problems.add('messages', 'must be a non-empty list');
    return false;
  }
  for (const [index, message] of messages.entries()) checkMessage(problems, message, `messages[${index}]`);
  checkAlternation(problems, messages);
  const used = checkToolPairs(problems, messages);
  if (options.thinking) checkThinkingLeads(problems, messages);
  return used;
}

function checkMessage(problems: Problems, message: unknown, path: string): void {
  if (!problems.must(isRecord(message), path, 'must be an object') || !isRecord(message)) return;
  problems.keys(message, path, ['role', 'content']);
  const { role, content } = message;
  if (!problems.oneOf(role, `${path}.role`, ['user', 'assistant'])) return;
  if (typeof content === 'string') {
    problems.must(content.trim() !== '', `${path}.content`, 'must hold more than white space');
    return;
  }
  if (!Array.isArray(content) || content.length === 0) {
    problems.add(`${path}.content`, 'must be a string or a non-empty list of blocks');
    return;
  }
  for (const [at, block] of content.entries()) checkAnthropicBlock(problems, block, role, `${path}.content[${at}]`);
}

function checkAlternation(problems: Problems, messages: readonly unknown[]): void {
  let before: unknown;
  for (const [index, message] of messages.entries()) {
    const role = isRecord(message) ? message['role'] : undefined;
    if (index === 0) problems.must(role === 'user', 'messages[0]', 'the first message must come from the user');
    else problems.must(role !== before, `messages[${index}]`, `two ${String(role)} messages in a row: roles alternate`);
    before = role;
  }
  problems.must(before === 'user', 'messages', 'the last message must come from the user: no prefill');
}

function checkToolPairs(problems: Problems, messages: readonly unknown[]): boolean {
  const seen = new Set<string>();
  let open = new Set<string>();
  let used = false;
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message)) continue;
    const path = `messages[${index}]`;
    const blocks = records(message['content']);
    used ||= blocks.some((block) => block['type'] === 'tool_use' || block['type'] === 'tool_result');
    if (message['role'] === 'user') checkResults(problems, blocks, open, path);
    for (const id of open) problems.add(path, `the tool_use "${id}" has no tool_result in this message`);
    open = message['role'] === 'assistant' ? openCalls(problems, blocks, seen, path) : new Set();
  }
  for (const id of open) problems.add('messages', `the tool_use "${id}" has no tool_result at the end`);
  return used;
}

/** The ids of a message's calls; each must be new in the whole transcript. */
function openCalls(
  problems: Problems,
  blocks: readonly Readonly<Record<string, unknown>>[],
  seen: Set<string>,
  path: string,
): Set<string> {
  const open = new Set<string>();
  for (const [at, block] of blocks.entries()) {
    if (block['type'] !== 'tool_use') continue;
    const { id } = block;
    const place = `${path}.content[${at}].id`;
    if (!problems.must(isText(id) && ID_PATTERN.test(id), place, `must match ${ID_PATTERN.source}`)) continue;
    problems.must(!seen.has(String(id)), place, `duplicate tool_use id "${String(id)}"`);
    seen.add(String(id));
    open.add(String(id));
  }
  return open;
}

/** Takes the answered calls out of `open`. */
function checkResults(
  problems: Problems,
  blocks: readonly Readonly<Record<string, unknown>>[],
  open: Set<string>,
  path: string,
): void {
  const answered = new Set<string>();
  let other = false;
  for (const [at, block] of blocks.entries()) {
    if (block['type'] !== 'tool_result') {
      other = true;
      continue;
    }
    const place = `${path}.content[${at}]`;
    problems.must(!other, place, 'tool_result blocks come first in a message');
    const id = String(block['tool_use_id']);
    if (open.delete(id)) answered.add(id);
    else if (answered.has(id)) problems.add(place, `second tool_result for "${id}"`);
    else problems.add(place, `answers no tool_use of the message before: "${id}"`);
  }
}

/** With thinking on, the assistant message whose tool results are being sent must start with its thinking. */
function checkThinkingLeads(problems: Problems, messages: readonly unknown[]): void {
  const last: unknown = messages.at(-1);
  const before: unknown = messages.at(-2);
  if (!isRecord(last) || !isRecord(before)) return;
  if (!records(last['content']).some((block) => block['type'] === 'tool_result')) return;
  const first = records(before['content'])[0]?.['type'];
  problems.must(
    first === 'thinking' || first === 'redacted_thinking',
    `messages[${messages.length - 2}]`,
    'must start with a thinking block while thinking is enabled',
  );
}
