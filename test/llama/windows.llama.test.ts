import { describe, expect, test } from 'vitest';
import { NO_LLAMA, type Llama } from '../support/llama-server.ts';
import { startLlamaWorld } from '../support/llama-world.ts';
import { chatOf, OWNER } from '../support/world.ts';

/** What the server says of a request: tokens that it read, that it still had, and that it wrote. */
interface Timings {
  readonly prompt_n: number;
  readonly cache_n: number;
}

/** Of all answers, in order. */
function timingsOf(llama: Llama): readonly Timings[] {
  return llama.proxy.passed.flatMap(({ text }) => {
    const found = /"timings":(\{[^}]+\})/u.exec(text)?.[1];
    return found === undefined ? [] : [JSON.parse(found) as Timings];
  });
}

const TEMPLATE = 'Qwen-Qwen2.5-7B-Instruct';
const WINDOWS = [4_096, 8_192, 16_384, 32_768];
const CASES = WINDOWS.flatMap((window) => [true, false].map((isAnnounced) => ({ window, isAnnounced })));

describe.skipIf(NO_LLAMA !== undefined)('a window of llama.cpp', () => {
  test.each(CASES)(
    'of $window tokens (announced: $isAnnounced) holds 20 messages with at most one refusal',
    async ({ window, isAnnounced }) => {
      await using it = await startLlamaWorld({
        template: TEMPLATE,
        flags: ['-c', String(window)],
        isSilent: !isAnnounced,
      });
      for (let n = 1; n <= 20; n += 1) {
        const texts = await it.says(`message ${n}: ${'some words of a longer story, '.repeat(window / 128)}`);
        expect(texts.join('\n')).not.toMatch(/too long|too small|\/new/u);
      }
      const chats = it.llama.proxy.passed.filter(({ path }) => path.endsWith('/chat/completions'));
      const refused = chats.filter(({ status }) => status !== 200).length;
      const last = JSON.stringify(chats.at(-1)?.body['messages']);
      const earlier = new Set(last.match(/message \d+: /gu)).size - 1;
      console.log(`window ${window}, announced ${isAnnounced}: ${earlier} earlier messages, ${refused} refusals`);
      expect(refused).toBeLessThanOrEqual(1);
      expect(earlier).toBeGreaterThanOrEqual(2);
      await it.says('/context');
      expect(chatOf(it.world).at(-1)).toContain(window.toLocaleString('en-US'));
    },
  );

  test.each(WINDOWS)('of %i tokens is read again by 200 tokens at most, over six turns with tools', async (window) => {
    await using it = await startLlamaWorld({
      template: TEMPLATE,
      flags: ['-c', String(window)],
    });
    for (let turn = 1; turn <= 6; turn += 1) {
      it.calls = 1;
      await it.says(`message ${turn}: what is in the folder?`);
    }
    const all = timingsOf(it.llama);
    const sizes = all.map(({ prompt_n: read, cache_n: had }) => read + had);
    // A request that is shorter than the one before it begins anew: the conversation was cut, or a summary is written.
    const again = all.flatMap(({ prompt_n: read }, at) => {
      const more = (sizes[at] ?? 0) - (sizes[at - 1] ?? Number.POSITIVE_INFINITY);
      return more > 0 ? [read - more] : [];
    });
    console.log(
      `window ${window}: prompts of ${sizes.join(', ')}; read ${all.map((one) => one.prompt_n).join(', ')}; again ${again.join(', ')}`,
    );
    expect(Math.max(...again)).toBeLessThanOrEqual(200);
  });
});

describe.skipIf(NO_LLAMA !== undefined)('“hi”', () => {
  test.each([
    ['qwen2', 'Qwen-Qwen2.5-7B-Instruct'],
    ['llama-bpe', 'meta-llama-Llama-3.1-8B-Instruct'],
    ['llama-spm', 'mistralai-Mistral-Nemo-Instruct-2407'],
    ['gemma-4', 'google-gemma-4-31B-it'],
  ] as const)('in the vocabulary of %s', async (vocabulary, template) => {
    await using it = await startLlamaWorld({ vocabulary, keep: 0, template });
    it.world.telegram.userSays(OWNER, 'hi');
    await it.settled();
    const [first] = timingsOf(it.llama);
    const body = it.llama.proxy.passed[0]?.body ?? {};
    const plain = await it.llama.countTokens(JSON.stringify([body['messages'], body['tools']]));
    console.log(
      `${vocabulary}: ${first === undefined ? '-' : first.prompt_n + first.cache_n} tokens with its template, ${plain} as JSON`,
    );
    expect((first?.prompt_n ?? 0) + (first?.cache_n ?? 0)).toBeLessThan(7_500);
  });
});
