import { isBase64, isRecord, isText, type Problems } from './validate.ts';

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const USER_BLOCKS = ['text', 'image', 'document', 'tool_result'];
const ASSISTANT_BLOCKS = ['text', 'thinking', 'redacted_thinking', 'tool_use'];

type Block = Readonly<Record<string, unknown>>;

/** Checks one content block of a message by itself. */
export function checkAnthropicBlock(problems: Problems, block: unknown, role: unknown, path: string): void {
  if (!problems.must(isRecord(block), path, 'must be an object') || !isRecord(block)) return;
  const type = String(block['type']);
  const allowed = role === 'user' ? USER_BLOCKS : ASSISTANT_BLOCKS;
  if (!problems.must(allowed.includes(type), path, `a ${String(role)} message may not hold a ${type} block`)) return;
  switch (type) {
    case 'text':
      checkText(problems, block, path);
      return;
    case 'image':
      checkImage(problems, block, path);
      return;
    case 'document':
      problems.must(isRecord(block['source']), `${path}.source`, 'must be an object');
      return;
    case 'tool_result':
      checkToolResult(problems, block, path);
      return;
    case 'tool_use':
      checkToolUse(problems, block, path);
      return;
    case 'thinking':
      problems.keys(block, path, ['type', 'thinking', 'signature']);
      problems.must(typeof block['thinking'] === 'string', `${path}.thinking`, 'must be a string');
      problems.must(isText(block['signature']), `${path}.signature`, 'must be a non-empty string');
      return;
    default:
      problems.keys(block, path, ['type', 'data']);
      problems.must(isText(block['data']), `${path}.data`, 'must be a non-empty string');
  }
}

function checkText(problems: Problems, block: Block, path: string): void {
  problems.keys(block, path, ['type', 'text', 'cache_control', 'citations']);
  const { text } = block;
  problems.must(typeof text === 'string' && text.trim() !== '', `${path}.text`, 'must hold more than white space');
}

function checkImage(problems: Problems, block: Block, path: string): void {
  problems.keys(block, path, ['type', 'source', 'cache_control']);
  const { source } = block;
  if (!problems.must(isRecord(source), `${path}.source`, 'must be an object') || !isRecord(source)) return;
  if (source['type'] === 'url') {
    problems.keys(source, `${path}.source`, ['type', 'url']);
    const isAddress = typeof source['url'] === 'string' && source['url'].startsWith('https://');
    problems.must(isAddress, `${path}.source.url`, 'must be an https address');
    return;
  }
  if (!problems.oneOf(source['type'], `${path}.source.type`, ['base64', 'url'])) return;
  problems.keys(source, `${path}.source`, ['type', 'media_type', 'data']);
  problems.oneOf(source['media_type'], `${path}.source.media_type`, IMAGE_TYPES);
  problems.must(isBase64(source['data']), `${path}.source.data`, 'must be valid base64');
}

function checkToolUse(problems: Problems, block: Block, path: string): void {
  problems.keys(block, path, ['type', 'id', 'name', 'input', 'cache_control', 'caller']);
  const { name } = block;
  problems.must(
    typeof name === 'string' && /^[a-zA-Z0-9_-]{1,128}$/u.test(name),
    `${path}.name`,
    'must match ^[a-zA-Z0-9_-]{1,128}$',
  );
  problems.must(isRecord(block['input']), `${path}.input`, 'must be an object');
}

function checkToolResult(problems: Problems, block: Block, path: string): void {
  problems.keys(block, path, ['type', 'tool_use_id', 'content', 'is_error', 'cache_control']);
  const { tool_use_id: id, content, is_error: isError } = block;
  problems.must(isText(id), `${path}.tool_use_id`, 'must be a non-empty string');
  problems.must(isError === undefined || typeof isError === 'boolean', `${path}.is_error`, 'must be true or false');
  if (content === undefined || typeof content === 'string') return;
  if (!problems.must(Array.isArray(content), `${path}.content`, 'must be a string or a list of blocks')) return;
  if (!Array.isArray(content)) return;
  for (const [at, part] of content.entries()) {
    const place = `${path}.content[${at}]`;
    const type = isRecord(part) ? part['type'] : undefined;
    if (!isRecord(part) || (type !== 'text' && type !== 'image')) {
      problems.add(place, 'a tool_result may hold text and image blocks only');
    } else if (type === 'text') {
      checkText(problems, part, place);
    } else {
      checkImage(problems, part, place);
      problems.must(isError !== true, place, 'a tool_result with is_error may hold text only');
    }
  }
}
