import { checkToolSchema, checkUnicode, isBase64, isRecord, isText, Problems, records } from './validate.ts';

const BODY_KEYS = 'model messages tools think format options stream keep_alive truncate shift logprobs'.split(' ');
const MESSAGE_KEYS = 'role content thinking images tool_calls tool_name tool_call_id'.split(' ');
const OPTION_KEYS =
  'num_ctx num_predict num_keep num_gpu num_thread num_batch temperature top_k top_p min_p seed stop repeat_penalty'.split(
    ' ',
  );

/**
 * Which rules of `POST /api/chat` a body breaks; empty for a legal one. Stricter than Ollama, which takes unknown keys and any order of
 * messages without a word: each result follows its call, and nothing is sent that Ollama would ignore.
 */
export function validateOllamaRequest(body: unknown, extraKeys: readonly string[] = []): string[] {
  const problems = new Problems();
  if (!isRecord(body)) return ['body: must be a JSON object'];
  problems.keys(body, 'body', [...BODY_KEYS, ...extraKeys]);
  checkUnicode(problems, body, 'body');
  problems.must(isText(body['model']), 'model', 'must be a non-empty string');
  const { options, think, tools } = body;
  if (problems.must(isRecord(options), 'options', 'must be an object') && isRecord(options)) {
    problems.keys(options, 'options', OPTION_KEYS);
    problems.range(options['num_ctx'], 'options.num_ctx', { min: 1, max: 10_000_000, integer: true });
    problems.must(options['num_ctx'] !== undefined, 'options.num_ctx', 'must be there: the default cuts prompts');
    problems.range(options['num_predict'], 'options.num_predict', { min: -2, max: 10_000_000, integer: true });
    problems.range(options['temperature'], 'options.temperature', { min: 0, max: 2 });
  }
  if (think !== undefined) problems.oneOf(think, 'think', [true, false, 'low', 'medium', 'high', 'max']);
  problems.must(tools === undefined || records(tools).length > 0, 'tools', 'must be a list that is not empty');
  for (const [index, tool] of records(tools).entries()) {
    const called = tool['function'];
    const path = `tools[${index}].function`;
    if (!problems.must(isRecord(called) && isText(called['name']), path, 'must have a name') || !isRecord(called))
      continue;
    checkToolSchema(problems, called['parameters'], `${path}.parameters`);
  }
  checkMessages(problems, records(body['messages']));
  return problems.found;
}

function checkMessages(problems: Problems, messages: readonly Readonly<Record<string, unknown>>[]): void {
  problems.must(messages.length > 0, 'messages', 'must not be empty');
  let open: { readonly id: unknown; readonly name: unknown }[] = [];
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    const { role, content, images, tool_calls: calls } = message;
    problems.keys(message, path, MESSAGE_KEYS);
    problems.oneOf(role, `${path}.role`, ['system', 'user', 'assistant', 'tool']);
    problems.must(typeof content === 'string', `${path}.content`, 'must be a string');
    problems.must(role !== 'system' || index === 0, path, 'the system message comes first');
    if (role === 'tool') {
      const at = open.findIndex(({ id }) => id === message['tool_call_id']);
      problems.must(open[at]?.name === message['tool_name'], path, 'must answer a call of the message before it');
      open = open.filter((_call, place) => place !== at);
      continue;
    }
    problems.must(open.length === 0, path, 'must not come before all calls are answered');
    problems.must(calls === undefined || role === 'assistant', path, 'only an assistant calls tools');
    open = records(calls).map(({ id, function: called }) => ({ id, name: isRecord(called) ? called['name'] : '' }));
    for (const call of records(calls)) {
      const called = call['function'];
      problems.must(isRecord(called) && isText(called['name']), path, 'a call must have a name');
      problems.must(isRecord(called) && isRecord(called['arguments']), path, 'arguments must be an object');
    }
    problems.must(new Set(open.map(({ id }) => id)).size === open.length, path, 'ids of calls must differ');
    const shown = Array.isArray(images) ? images : [];
    problems.must(shown.every(isBase64), `${path}.images`, 'must be base64');
    problems.must(role !== 'user' || content !== '' || shown.length > 0, path, 'must say something');
  }
  problems.must(messages.at(-1)?.['role'] !== 'assistant', 'messages', 'must not end with an assistant');
}
