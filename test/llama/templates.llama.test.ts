import { describe, expect, test } from 'vitest';
import { NO_LLAMA } from '../support/llama-server.ts';
import { startLlamaWorld } from '../support/llama-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';

/** Files of llama.cpp's models/templates, of every family. */
const TEMPLATES = [
  'CohereForAI-c4ai-command-r7b-12-2024-tool_use',
  'GLM-4.6',
  'HuggingFaceTB-SmolLM3-3B',
  'Kimi-K2-Instruct',
  'MiniMax-M2',
  'Mistral-Small-3.2-24B-Instruct-2506',
  'NVIDIA-Nemotron-Nano-v2',
  'NousResearch-Hermes-3-Llama-3.1-8B-tool_use',
  'Qwen-QwQ-32B',
  'Qwen-Qwen2.5-7B-Instruct',
  'Qwen-Qwen3-0.6B',
  'Qwen3-Coder',
  'Qwen3.5-4B',
  'deepseek-ai-DeepSeek-R1-Distill-Llama-8B',
  'deepseek-ai-DeepSeek-V3.1',
  'fireworks-ai-llama-3-firefunction-v2',
  'google-gemma-2-2b-it',
  'google-gemma-4-31B-it',
  'ibm-granite-granite-4.0',
  'meta-llama-Llama-3.1-8B-Instruct',
  'meta-llama-Llama-3.2-3B-Instruct',
  'meta-llama-Llama-3.3-70B-Instruct',
  'microsoft-Phi-3.5-mini-instruct',
  'mistralai-Ministral-3-14B-Reasoning-2512',
  'mistralai-Mistral-Nemo-Instruct-2407',
  'openai-gpt-oss-120b',
];

/** A picture of one dot. */
const DOT = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);

/** What nobody should read of a server: its template's source, or that it is at fault for what the request caused. */
const UNTRUE = /jinja|\{%|overloaded|out of order|new one with \/new|has become too long/iu;

describe.skipIf(NO_LLAMA)(`real templates${NO_LLAMA === undefined ? '' : ` (${NO_LLAMA})`}`, () => {
  test.each(TEMPLATES)(
    '%s: every turn ends in an answer or a true sentence, and the conversation goes on',
    async (template) => {
      await using it = await startLlamaWorld({ template });
      const { llama, world } = it;
      const read: (readonly string[])[] = [];
      for (let turn = 1; turn <= 5; turn += 1) {
        it.calls = 1;
        read.push(await it.says(`message ${turn}: what is in the folder?`));
      }
      // A message that joins a running turn.
      it.calls = 1;
      const held = Promise.withResolvers<undefined>();
      llama.proxy.held = held.promise;
      const before = chatOf(world).length;
      world.telegram.userSays(OWNER, 'message 6: look at the notes');
      await waitFor(() => llama.proxy.open > 0, { what: 'the first request' });
      world.telegram.userSays(OWNER, 'and at the plans');
      await waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'the second message' });
      llama.proxy.held = undefined;
      held.resolve(undefined);
      await waitFor(() => chatOf(world).length > before, { what: 'the steered answer' });
      await it.settled();
      read.push(chatOf(world).slice(before));
      // A turn that never stops calling tools.
      it.calls = 9;
      read.push(await it.says('message 7: go on and on'));
      it.calls = 0;
      world.telegram.addFile('dot', DOT, 'photos/dot.png');
      const photo = [{ file_id: 'dot', file_size: DOT.length }];
      read.push(await it.says('', { text: undefined, photo, caption: 'message 8: what is this?' }));
      const last = llama.proxy.passed.length;
      read.push(await it.says('message 9: thanks'));
      for (const [at, texts] of read.entries()) {
        expect(texts.length, `message ${at + 1}`).toBeGreaterThan(0);
        expect(texts.join('\n'), `message ${at + 1}`).not.toMatch(UNTRUE);
      }
      const final = llama.proxy.passed.slice(last);
      expect(final.map(({ status }) => status)).toContain(200);
      expect(JSON.stringify(final.at(-1)?.body)).toContain('message 5: what is in the folder?');
      const statuses = llama.proxy.passed.map(({ status }) => status);
      console.log(
        `${template}: ${statuses.length} requests, ${statuses.filter((status) => status !== 200).length} refused; ${llama.proxy.passed.filter(({ text }) => text.includes('"tool_calls"')).length} with calls; ${read.at(-1)?.join(' | ').slice(0, 80)}`,
      );
    },
  );

  test('30 switches between six templates: the conversation goes on', async () => {
    const six = [
      'Qwen-Qwen2.5-7B-Instruct',
      'meta-llama-Llama-3.1-8B-Instruct',
      'mistralai-Mistral-Nemo-Instruct-2407',
      'google-gemma-2-2b-it',
      'NousResearch-Hermes-3-Llama-3.1-8B-tool_use',
      'deepseek-ai-DeepSeek-V3.1',
    ];
    await using it = await startLlamaWorld();
    for (let turn = 0; turn < 30; turn += 1) {
      await it.llama.start(six[(turn * 5 + Math.floor(turn / 6)) % 6]);
      it.calls = 1;
      const texts = await it.says(`message ${turn}: what is in the folder?`);
      expect(texts.join('\n'), `message ${turn}`).not.toMatch(UNTRUE);
    }
    const chats = it.llama.proxy.passed.filter(({ path }) => path.endsWith('/chat/completions'));
    const refused = chats.filter(({ status }) => status !== 200).length;
    console.log(`30 switches: ${chats.length} requests, ${refused} refused`);
    expect(chats.at(-1)?.status).toBe(200);
  });
});
