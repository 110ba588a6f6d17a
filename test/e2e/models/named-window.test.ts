import { expect, test } from 'vitest';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../../support/world.ts';

/** Characters of a token in what this server reads. */
const PER_TOKEN = 3.6;

test.each([4_096, 8_192, 16_384])(
  'a window of %i tokens that only a refusal names is known from then on, and holds what fits',
  async (window) => {
    await using world = await startWorld();
    let refusals = 0;
    world.model.setHandler(({ body, view }) => {
      const tokens = Math.round(JSON.stringify(body).length / PER_TOKEN);
      if (tokens <= window) return `Answer to ${view.lastUserText.split('\n').at(-1)?.slice(0, 9)}`;
      refusals += 1;
      const message = `request (${tokens} tokens) exceeds the available context size (${window} tokens), try increasing it`;
      const type = 'exceed_context_size_error';
      return {
        error: { status: 400, body: { error: { code: 400, type, message, n_prompt_tokens: tokens, n_ctx: window } } },
      };
    });
    for (let n = 0; n < 20; n += 1) {
      world.telegram.userSays(OWNER, `message ${n} ${'of many words '.repeat(window / 80)}`);
      await waitFor(() => chatOf(world).length > n, { what: `answer ${n}` });
    }
    expect(chatOf(world).every((text) => text.startsWith('Answer to '))).toBe(true);
    expect(refusals).toBeLessThanOrEqual(1);
    const last = world.model.requests.at(-1)?.text ?? '';
    expect(last.match(/Answer to message/gu)?.length ?? 0).toBeGreaterThanOrEqual(2);
    world.telegram.userSays(OWNER, '/context');
    await waitFor(() => chatOf(world).length > 20);
    expect(chatOf(world).at(-1)).toContain(window.toLocaleString('en-US'));
  },
);
