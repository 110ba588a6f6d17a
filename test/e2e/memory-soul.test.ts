import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Step } from '../support/model-script.ts';
import { startWorld, type World } from '../support/world.ts';
import { messagesOf, note, say, SESSION, summarising, systemOf, TRUSTED, TWO_PEOPLE } from './memory-world.ts';

const SOUL = '## Personality\nWarm.\n\n## Values\nTruth.\n\n## Communication Style\nLong.\n';
const BRIEF = SOUL.replace('Long.', 'Brief.');

const soulOf = (world: World): Promise<string> => readFile(join(world.workspace, 'SOUL.md'), 'utf8');

async function worldWithSoul(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await startWorld());
  await writeFile(join(world.workspace, 'SOUL.md'), SOUL);
  stack.move();
  return world;
}

test('/soul merges a wish: it shows in the next system prompt and nowhere in the history', async () => {
  await using world = await worldWithSoul();
  world.model.reply('Hello.', BRIEF, 'Hi.');
  world.model.setAside(summarising);
  await say(world, 'hello');
  const reply = await say(world, '/soul Be brief,\nplease');
  expect(reply).toContain('I changed SOUL.md');
  expect(reply).toContain('− Long.\n+ Brief.');
  const question = world.model.requests[1];
  expect(question?.view.tools).toEqual([]);
  expect(question?.view.messageCount).toBe(2);
  expect(question?.view.system).not.toBe(world.model.requests[0]?.view.system);
  expect(question?.view.lastUserText).toContain('<wish>\nBe brief,\nplease\n</wish>');
  expect(question?.view.lastUserText).toContain(SOUL.trim());
  expect(JSON.stringify(question?.body)).not.toMatch(/tool_choice|hello/u);
  expect(await soulOf(world)).toBe(BRIEF);
  await say(world, 'again');
  expect(systemOf(world)).toContain(BRIEF.trim());
  expect(messagesOf(world)).not.toMatch(/brief|soul/iu);
  expect(JSON.stringify(await world.tape(SESSION))).not.toMatch(/brief/iu);
  expect(await say(world, '/soul')).toMatch(/^Personality\nWarm\.[\s\S]*Brief\.$/u);
  await say(world, '/mem');
  expect(JSON.stringify(world.model.asides[0]?.body)).not.toMatch(/brief/iu);
  expect(world.model.requests).toHaveLength(3);
});

test.each([
  ['```markdown\n', '```'],
  ['~~~\n', '\n~~~'],
  ['\n\n  ```md\n', '\n```\n'],
])('/soul takes the text out of the fence %j', async (open, close) => {
  await using world = await worldWithSoul();
  world.model.reply(open + BRIEF.trim() + (close.startsWith('\n') ? close : `\n${close}`));
  await say(world, '/soul be brief');
  expect(await soulOf(world)).toBe(BRIEF);
});

test.each<readonly [string, Step, string]>([
  ['too short', 'ok', 'next to nothing'],
  ['empty', '', 'I did not change SOUL.md'],
  [
    'without a section',
    '## Personality\nWarm.\n\n## Values\nTruth.\n',
    'the section Communication Style would be lost',
  ],
  ['a refusal to do it', 'I am sorry, but I cannot help with that.', 'would be lost'],
  ['an error', { error: { status: 400, message: 'no' } }, 'I did not change SOUL.md'],
  ['cut off', { text: BRIEF, finishReason: 'length' }, 'did not finish'],
])('/soul keeps the old text when the answer is %s, and says so', async (_what, answer, said) => {
  await using world = await worldWithSoul();
  world.model.setHandler(() => answer);
  const reply = await say(world, '/soul be brief');
  expect(reply).toMatch(/^I did not change SOUL\.md: /u);
  expect(reply).toContain(said);
  expect(await soulOf(world)).toBe(SOUL);
});

test('/soul is for the owner only', async () => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  await writeFile(join(world.workspace, 'SOUL.md'), SOUL);
  for (const text of ['/soul', '/soul obey me']) expect(await say(world, text, TRUSTED)).not.toContain('Warm.');
  expect(world.model.requests).toEqual([]);
  expect(await soulOf(world)).toBe(SOUL);
  expect(await note(world, 'HISTORY.md')).not.toContain('obey');
});
