import { describe, expect, test } from 'vitest';
import { stripReasoning } from '../../src/core/agent/turn/strip-reasoning.ts';

const HIDDEN: readonly [string, string, string][] = [
  ['a block at the start', '<think>secret</think>\n\nHello.', 'Hello.'],
  ['a block over lines', '<think>\none\n\ntwo\n</think>\n\nHello.', 'Hello.'],
  ['thinking', '<thinking>secret</thinking>Hello.', 'Hello.'],
  ['thought', '<thought>secret</thought>Hello.', 'Hello.'],
  ['capitals and spaces in a tag', '<Think >secret</THINK>Hello.', 'Hello.'],
  ['a namespace', '<thinking>secret</thinking>Hello.', 'Hello.'],
  ['two blocks', '<think>a</think>One.\n<think>b</think>\nTwo.', 'One.\nTwo.'],
  ['a block in the middle of a line', 'Before <think>secret</think> after.', 'Before  after.'],
  ['a block glued to a sentence', 'Sure!<think>secret</think> Done.', 'Sure! Done.'],
  ['a block that is not closed', 'Hello.\n<think>secret without an end', 'Hello.\n'],
  ['nothing but a block that is not closed', '<think>secret', ''],
  ['an unclosed block in the middle of a line', 'Sure.<think>\nwell, let me see', 'Sure.'],
  ['an end without a beginning', 'I should greet.\n</think>\n\nHello.', 'Hello.'],
  ['an end without a beginning, glued', 'I should greet.</think>Hello.', 'Hello.'],
  ['an end right at the start', '</think>\nHello.', 'Hello.'],
  ['a nested block', '<think>a<think>b</think>c</think>Hello.', 'Hello.'],
  ['an analysis channel', '<|channel|>analysis<|message|>secret<|end|>Hello.', 'Hello.'],
  [
    'a whole harmony answer',
    '<|start|>assistant<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>',
    'Hello.',
  ],
  ['an analysis channel that is not closed', '<|channel|>analysis<|message|>secret', ''],
  ['a channel without a message', 'Hello.\n<|channel|>analysis', 'Hello.\n'],
  ['a role token', '<|im_start|>assistant\nHello.<|im_end|>', 'Hello.'],
  ['a header', '<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>', 'Hello.'],
  ['an end of text', 'Hello.<|endoftext|>', 'Hello.'],
  ['a token after a space', 'Hello. <|eot_id|>', 'Hello. '],
  ['wide tokens', 'Hello.<｜end▁of▁sentence｜>', 'Hello.'],
  ['turns', '<start_of_turn>model\nHello.<end_of_turn>', 'Hello.'],
];

const SHOWN: readonly string[] = [
  'Use the <think> tag.',
  'Use the <think> tag to reason and close it with </think> at the end.',
  'Models wrap thoughts in <think> and </think> tags.',
  'Write <think>reasoning</think> tags around it.',
  'It looks like <think>…</think> in the output.',
  '<think> tags are written by reasoning models.',
  'The tags "<think>" and "</think>" are special.',
  'They are called (<thinking>), [<thought>] and so on.',
  'It ends with </think>, always.',
  'The closing </think> tag ends it.',
  '`<think>secret</think>` is the syntax.',
  '``<think>`` and ``</think>``',
  '```xml\n<think>\nnot a thought\n</think>\n```\nThat was the code.',
  '~~~\n<think>\n~~~',
  '- item\n\n  ```\n  <think>\n  ```',
  '```\n<think> in a fence that is not closed',
  '> ```\n> <think>\n> ```',
  'The <|im_start|> token begins a message.',
  'The tokens are `<|im_start|>` and `<|eot_id|>`.',
  'List.map f <| xs |> g',
  'a < b and c > d',
  '<div>not a thought</div>',
  'no tags at all',
  '',
];

describe('what people see of a text', () => {
  test.each(HIDDEN)('%s is left out', (_title, text, visible) => {
    expect(stripReasoning(text)).toBe(visible);
  });

  test.each(SHOWN)('stays as it is: %j', (text) => {
    expect(stripReasoning(text)).toBe(text);
  });
});

describe('while the text grows', () => {
  const growing = [
    ...HIDDEN.filter(([title]) => !title.startsWith('an end') && !title.includes('nested')).map(([, text]) => text),
    ...SHOWN,
    'A `<think>` in code, then `more <think> code` and the end.\nNext <think>secret, quite a long one</think> line.',
    'A backtick ` alone and then <think>secret</think>.\nDone.',
  ];

  test.each(growing)('nothing appears that vanishes again: %j', (text) => {
    const final = stripReasoning(text);
    let before = '';
    for (let length = 0; length <= text.length; length += 1) {
      const now = stripReasoning(text.slice(0, length), { streaming: true });
      expect(now.startsWith(before)).toBe(true);
      before = now;
    }
    expect(final.startsWith(before)).toBe(true);
  });

  test('half a tag at the end is held back, half of something else only until it is known', () => {
    expect(stripReasoning('Hello <thi', { streaming: true })).toBe('Hello ');
    expect(stripReasoning('Hello <|im_', { streaming: true })).toBe('Hello ');
    expect(stripReasoning('Hello <div class', { streaming: true })).toBe('Hello <div class');
    expect(stripReasoning('Hello <thi')).toBe('Hello <thi');
  });
});

test('a long text with many tags takes no long time', () => {
  const text = 'if (a < b) { `x` } <thin '.repeat(8_000);
  const began = performance.now();
  stripReasoning(text);
  stripReasoning('<'.repeat(100_000), { streaming: true });
  stripReasoning('`'.repeat(50_000) + '<');
  expect(performance.now() - began).toBeLessThan(3_000);
});
