import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Asking } from '../../support/asking-why.ts';
import { OWNER, startWorld } from '../../support/world.ts';

test('/why says that the oldest part was left out, because the model found the conversation too long', async () => {
  await using world = await startWorld();
  const asking = new Asking(world);
  await writeFile(join(world.workspace, 'notes.txt'), 'some words of a note\n'.repeat(500));
  const tooLong = { error: { status: 400, message: 'prompt is too long', code: 'context_length_exceeded' } };
  await asking.say(
    'read my notes',
    OWNER,
    { calls: [{ name: 'read_file', arguments: { path: 'notes.txt' } }] },
    'Read.',
  );
  const asked = await asking.say('and now?', OWNER, tooLong, 'Shorter is better.');
  expect(await asking.why(asked)).toBe(
    'About “and now?”: openai/scripted-model had to be asked again, because openai found the conversation too long (400). The conversation had become too long for the model, so its oldest part was left out.',
  );
});

test('/why says that the older part of a conversation was replaced by a summary', async () => {
  await using world = await startWorld({ config: { agent: { contextWindow: 16_000, maxOutputTokens: 1000 } } });
  const asking = new Asking(world);
  const words = 'We spoke of the garden, the long winter and what there was for dinner. '.repeat(40);
  world.model.setHandler(() => ({ text: `Yes. ${words}`, usage: null }));
  let told = '';
  for (let n = 1; n <= 30 && !told.includes('summary'); n += 1) {
    told = await asking.cause(await asking.say(`Turn ${n}. ${words}`));
  }
  expect(told).toBe(
    'Before it, the older part of the conversation was replaced by a summary, so I no longer had it word for word.',
  );
});
