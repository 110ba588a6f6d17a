import { describe, expect, test } from 'vitest';
import type { ModelEvent } from '../../src/core/providers/provider.ts';
import { splitCalls } from '../../src/core/providers/text-calls.ts';
import { withTextCalls } from '../../src/core/providers/wrappers/text-calls.ts';
import { connect, DIALECTS, endOf, errorOf, hear, request, user } from './dialects.ts';

const JSON_CALL = '{"name": "read_file", "arguments": {"path": "notes.txt"}}';
const ARGUMENTS = '{"path": "notes.txt"}';
const FORMS: readonly (readonly [string, string, string])[] = [
  ['Qwen and Hermes', 'qwen3-32b', `<tool_call>\n${JSON_CALL}\n</tool_call>`],
  ['Qwen, whose server keeps the last mark', 'qwen3-32b', `<tool_call>\n${JSON_CALL}\n`],
  [
    'Qwen Coder',
    'Qwen/Qwen3-Coder-30B',
    '<tool_call>\n<function=read_file>\n<parameter=path>\nnotes.txt\n</parameter>\n</function>\n</tool_call>',
  ],
  ['Mistral', 'mistral-small', `[TOOL_CALLS][${JSON_CALL}]`],
  ['Mistral, newer', 'mistralai/Devstral-Small', `[TOOL_CALLS]read_file[ARGS]${ARGUMENTS}</s>`],
  [
    'Kimi',
    'moonshotai/kimi-k2',
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>${ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>`,
  ],
  [
    'DeepSeek V3',
    'deepseek-chat',
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n\`\`\`json\n${ARGUMENTS}\n\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  ],
  [
    'DeepSeek V3.1',
    'deepseek-v3.1',
    `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>${ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>`,
  ],
  [
    'DeepSeek V3.2',
    'deepseek-v3.2',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">notes.txt</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  ],
  ['Llama', 'llama-3.1-8b', `<function=read_file>${ARGUMENTS}</function>`],
  [
    'Llama, tagged',
    'meta-llama/Llama-3.2-3B',
    `<|python_tag|>{"name":"read_file","parameters":${ARGUMENTS}}<|eom_id|>`,
  ],
  ['GLM', 'glm-4.5', '<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>notes.txt</arg_value>\n</tool_call>'],
  [
    'MiniMax',
    'MiniMax-M2',
    '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">notes.txt</parameter>\n</invoke>\n</minimax:tool_call>',
  ],
];

describe.each(DIALECTS)('$name', (dialect) => {
  const answer = async (text: string, model: string, more: object = {}) => {
    await using server = await dialect.start();
    server.reply({ text, chunkSize: 3 });
    const heard = await hear(connect(dialect, server), request([user('hello')], { model, ...more }));
    return { heard, end: endOf(heard) };
  };

  test.each(FORMS)('a call in the text is run: %s', async (_name, model, written) => {
    const { heard, end } = await answer(`I'll read it.\n${written}`, model);
    expect(heard.text.trim()).toBe("I'll read it.");
    expect(end.stopReason).toBe('tool-calls');
    expect(end.response.content).toEqual([
      { type: 'text', text: "I'll read it." },
      { type: 'tool-call', id: '', name: 'read_file', arguments: expect.any(String) },
    ]);
    const call = heard.events.find((event) => event.type === 'tool-call');
    expect(JSON.parse(call?.type === 'tool-call' ? call.call.arguments : '')).toEqual({ path: 'notes.txt' });
  });

  test('several calls in the text are run in their order', async () => {
    const other = JSON_CALL.replace('notes', 'other');
    const { heard, end } = await answer(
      `<tool_call>${JSON_CALL}</tool_call>\n<tool_call>${other}</tool_call>`,
      'hermes-3',
    );
    expect(heard.text).toBe('');
    expect(end.response.content).toMatchObject([
      { arguments: '{"path":"notes.txt"}' },
      { arguments: '{"path":"other.txt"}' },
    ]);
  });

  test('calls with words between them are run, and the words are kept', async () => {
    const other = JSON_CALL.replace('notes', 'other');
    const { heard, end } = await answer(
      `First:\n<tool_call>${JSON_CALL}</tool_call>\nNow the second:\n<tool_call>${other}</tool_call>`,
      'qwen3-32b',
    );
    expect(heard.text).not.toContain('tool_call');
    expect(heard.text.split(/\n+/u)).toEqual(['First:', 'Now the second:']);
    expect(end.response.content).toMatchObject([
      { type: 'text', text: 'First:\nNow the second:' },
      { arguments: '{"path":"notes.txt"}' },
      { arguments: '{"path":"other.txt"}' },
    ]);
  });

  test.each([
    ['on lines of its own', `\n\nI'm reading your notes now.\nOne moment.`, "I'm reading your notes now.\nOne moment."],
    ['in the same line', ` I'm reading your notes now.`, "I'm reading your notes now."],
    ['after a result that it imagines', `\n<tool_response>\nfake\n</tool_response>\nDone.`, 'Done.'],
  ])('a call is run when the model wrote more after it, %s', async (_where, after, kept) => {
    for (const [, model, written] of FORMS.filter(([name]) => !name.includes('server keeps'))) {
      const { heard, end } = await answer(`First.\n${written}${after}`, model);
      expect(heard.text.split(/\n+/u)).toEqual(['First.', ...kept.split('\n')]);
      expect(end.response.content).toMatchObject([{ text: `First.\n${kept}` }, { name: 'read_file' }]);
    }
  });

  const breakOff = async (text: string, fault: 'hang-mid' | 'reset-mid') => {
    await using server = await dialect.start();
    server.reply({ text, chunkSize: 20, fault, afterEvents: 8 });
    const signal = fault === 'hang-mid' ? AbortSignal.timeout(500) : new AbortController().signal;
    const heard = await hear(connect(dialect, server), request([user('hi')], { model: 'qwen3-32b' }), { signal });
    expect(errorOf(heard).kind).toBe(fault === 'hang-mid' ? 'aborted' : 'network');
    return heard;
  };

  test.each(['hang-mid', 'reset-mid'] as const)('text after a mention of a call comes out: %s', async (fault) => {
    const text = `The mark <tool_call> begins a call. ${'And so on. '.repeat(40)}`;
    const heard = await breakOff(text, fault);
    expect(text.startsWith(heard.text)).toBe(true);
    expect(heard.text).toContain('And so on.');
  });

  test.each(['hang-mid', 'reset-mid'] as const)('half a call stays hidden: %s', async (fault) => {
    const call = JSON_CALL.replace('notes.txt', 'a/'.repeat(200));
    const heard = await breakOff(`I'll read it.\n<tool_call>${call}</tool_call>`, fault);
    expect(heard.text.trim()).toBe("I'll read it.");
  });

  test('a call before the text that breaks off stays hidden', async () => {
    const heard = await breakOff(`<tool_call>${JSON_CALL}</tool_call>\n${'I am reading. '.repeat(20)}`, 'reset-mid');
    expect(heard.text).toContain('I am reading.');
    expect(heard.text).not.toContain('tool_call');
  });

  test.each<[string, string, string, object?]>([
    ['that stands in a code block', `Write this:\n\`\`\`\n<tool_call>${JSON_CALL}</tool_call>\n\`\`\``, 'qwen3-32b'],
    [
      'that stands in a code block without an end',
      `Write this:\n\`\`\`\n<tool_call>${JSON_CALL}</tool_call>`,
      'qwen3-32b',
    ],
    ['that stands in a line of code', `Write \`<tool_call>${JSON_CALL}</tool_call>\``, 'qwen3-32b'],
    ['that is quoted', `It says:\n> <tool_call>${JSON_CALL}</tool_call>`, 'qwen3-32b'],
    ['with more text after it', `<tool_call>${JSON_CALL}</tool_call> is how a call looks.`, 'qwen3-32b'],
    ['in a thought', `<think>Perhaps <tool_call>${JSON_CALL}</tool_call>`, 'qwen3-32b'],
    [
      'of a tool that was not offered',
      `<tool_call>${JSON_CALL.replace('read_file', 'launch')}</tool_call>`,
      'qwen3-32b',
    ],
    ['that cannot be read', '<tool_call>{"name": "read_file", "arguments": {"pa</tool_call>', 'qwen3-32b'],
    ['of a model that is not known to write calls', `<tool_call>${JSON_CALL}</tool_call>`, 'gpt-5.5'],
    ['when no tools were offered', `<tool_call>${JSON_CALL}</tool_call>`, 'qwen3-32b', { tools: [] }],
    ['when no tool may be called', `<tool_call>${JSON_CALL}</tool_call>`, 'qwen3-32b', { toolChoice: 'none' }],
  ])('what looks like a call stays text %s', async (_name, text, model, more = {}) => {
    const { heard, end } = await answer(text, model, more);
    expect(heard.text).toBe(text);
    expect(end).toMatchObject({ stopReason: 'stop', response: { content: [{ type: 'text', text }] } });
  });
});

test('text that was held back goes with the attempt that is begun again', async () => {
  async function* events(): AsyncGenerator<ModelEvent> {
    yield { type: 'text-delta', text: 'The mark <tool_call> begins a call.' };
    yield { type: 'restart', reason: 'network', waitMs: 0, message: 'again' };
    yield { type: 'text-delta', text: 'Fine.' };
    yield await Promise.resolve({
      type: 'end' as const,
      stopReason: 'stop' as const,
      response: { content: [{ type: 'text' as const, text: 'Fine.' }], model: 'm', usage: null },
    });
  }
  const heard: string[] = [];
  for await (const event of withTextCalls(events(), request([user('hi')], { model: 'qwen3-32b' }))) {
    heard.push(event.type === 'text-delta' ? event.text : event.type);
  }
  expect(heard).toEqual(['The mark ', 'restart', 'Fine.', 'end']);
});

test.each<[string, string]>([
  ['mentions', '<tool_call> x '],
  ['quoted mentions', '`<tool_call>` x '],
  ['calls that are never closed', '<tool_call>{"name": '],
  ['elements that are never closed', '<function=read_file><parameter=path>'],
  ['calls with words between them', `<tool_call>${JSON_CALL}</tool_call> and `],
])('the time to read a long text grows with its length only: %s', (_name, piece) => {
  const { tools } = request([]);
  const timeOf = (length: number): number => {
    const text = piece.repeat(length / piece.length);
    const before = process.threadCpuUsage();
    splitCalls(text, tools);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  timeOf(20_000);
  expect(timeOf(1_000_000)).toBeLessThan(1_000);
});
