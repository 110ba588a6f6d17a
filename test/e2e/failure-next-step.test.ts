import { expect, test } from 'vitest';
import { OWNER, startWorld } from '../support/world.ts';
import { say, TRUSTED, TWO_PEOPLE } from './memory-world.ts';

test.each([
  ['no credit', { error: { status: 402, message: 'Insufficient credits', code: 'insufficient_quota' } }],
  ['a refusal without a word', { text: '', finishReason: 'content_filter' }],
])('only the owner is told to use /model after %s', async (_what, answer) => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  world.model.setHandler(() => answer);
  expect(await say(world, 'hi', OWNER)).toContain('choose another model with /model');
  const others = await say(world, 'hi', TRUSTED);
  expect(others).toMatch(/Tell the owner of this assistant, then send \/retry\.|Or put it in other words\./u);
  expect(others).not.toContain('/model');
});
