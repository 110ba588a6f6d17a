import { expect, test } from 'vitest';
import { CHAT, GROUP, sayInGroup, worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, startWorld, type World } from '../support/world.ts';
import {
  asked,
  failing,
  messagesOf,
  note,
  putMemory,
  say,
  saves,
  SESSION,
  summarising,
  systemOf,
  TRUSTED,
  TWO_PEOPLE,
} from './memory-world.ts';

async function countTo(world: World, words: readonly string[]): Promise<void> {
  for (const word of words) await say(world, word);
}

const FOUR = ['word one', 'word two', 'word three', 'word four'];

async function hasAnchor(world: World): Promise<boolean> {
  return (await world.tape(SESSION)).some(({ kind }) => kind === 'anchor');
}

test('/mem with a text puts it into MEMORY.md, as it was written, and nowhere into the conversation', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside((request) => {
    const { conversation, memory } = asked(request);
    const name = /I am called (\w+)/u.exec(conversation)?.[1] ?? 'nobody';
    return saves('They counted.', `${memory}\n- The owner is called ${name}.`);
  });
  await countTo(world, FOUR);
  const reply = await say(world, '/mem I am called Ming\n  and live in Lisbon, NOT in Porto');
  expect(reply).toBe(
    'I saved your note “I am called Ming and live in Lisbon, NOT in Porto” in HISTORY.md. I saved a summary of 4 exchanges in HISTORY.md. I updated MEMORY.md.',
  );
  const [question, ...more] = world.model.asides;
  expect(more).toEqual([]);
  const conversation = question === undefined ? '' : asked(question).conversation;
  expect(conversation).toMatch(/word four\nassistant: ok\n\n/u);
  // The last of the messages, and the owner's.
  expect(conversation).toMatch(/\nuser \[[^\]]*\]: I am called Ming\n {2}and live in Lisbon, NOT in Porto$/u);
  expect(conversation).not.toContain('/mem');
  expect(await note(world, 'MEMORY.md')).toContain('- The owner is called Ming.');
  expect(await note(world, 'HISTORY.md')).toMatch(/^\[\d{4}-\d\d-\d\d \d\d:\d\d\] They counted\.$/mu);
  await say(world, 'word five');
  expect(systemOf(world)).toContain('- The owner is called Ming.');
  const messages = messagesOf(world);
  expect(messages).not.toMatch(/Lisbon|Ming|\/mem/u);
  // The last two exchanges stay as they were, what is older is a summary.
  expect(messages).toContain('word three');
  expect(messages).toContain('word four');
  expect(messages).toContain('They counted.');
  expect(messages).not.toMatch(/word one|word two/u);
});

test.each([
  ['that leaves it out', saves('They counted.'), 'I updated MEMORY.md.'],
  ['that fails', { error: { status: 400, message: 'no' } }, 'I could not save the conversation'],
])('/mem with a text keeps it word by word whatever a model answers: one %s', async (_what, answer, said) => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => answer);
  await countTo(world, FOUR);
  const reply = await say(world, '/mem I like cake');
  expect(reply).toContain('I saved your note “I like cake” in HISTORY.md.');
  expect(reply).toContain(said);
  expect(await note(world, 'HISTORY.md')).toMatch(/^\[[^\]]+\] Noted by the owner: I like cake$/mu);
  if ('error' in answer) return;
  expect(await note(world, 'MEMORY.md')).toMatch(/^- I like cake$/mu);
});

test.each([
  ['on its own', '/mem'],
  ['with a text', '/mem I like cake'],
])('/mem %s asks again when a model chats, and saves what its tool call says', async (_what, command) => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(({ view }) =>
    /cannot be used/u.test(view.lastUserText) ? saves('They counted to four.') : 'Sure! How can I help you today?',
  );
  await countTo(world, FOUR);
  expect(await say(world, command)).toContain('I saved a summary of 4 exchanges in HISTORY.md.');
  const [first, second, ...more] = world.model.asides;
  expect(more).toEqual([]);
  expect(first?.body['tool_choice']).toBe('required');
  expect(second?.body['tool_choice'] ?? 'auto').toBe('auto');
  expect(second?.view.tools).toEqual(['save_memory']);
  expect(await note(world, 'HISTORY.md')).toContain('] They counted to four.');
  expect(await note(world, 'HISTORY.md')).not.toContain('How can I help');
  await say(world, 'word five');
  expect(messagesOf(world)).not.toContain('How can I help');
});

test('/mem saves the text of a model that never calls the tool, after it was asked twice', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => 'The owner counted to four.');
  await putMemory(world, '- An old fact.\n');
  await countTo(world, FOUR);
  expect(await say(world, '/mem')).toContain('I saved a summary of 4 exchanges in HISTORY.md.');
  expect(world.model.asides).toHaveLength(2);
  expect(await note(world, 'HISTORY.md')).toContain('] The owner counted to four.');
  expect(await note(world, 'MEMORY.md')).toBe('- An old fact.\n');
});

test.each([
  ["I'm sorry, I can't help with that."],
  ['Sure! How can I help you today?'],
  ['Unfortunately, the request cannot be completed.'],
  ['Es tut mir leid, dabei kann ich nicht helfen.'],
  ['抱歉，我无法提供帮助。'],
  ['Four is a nice number, and three is one less!'],
  ['Your word three is a prime.'],
  ['A number like four is even.'],
])('/mem never takes a refusal or chat for the summary: %s', async (answer) => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => answer);
  await countTo(world, ['can you help me?', 'please help me with that today', 'word three', 'word four']);
  const said = 'openai/scripted-model gave no usable answer. /mem tries again.';
  expect(await say(world, '/mem')).toBe(`I could not save this conversation to memory: ${said}`);
  expect(await say(world, '/mem I like cake')).toBe(
    `I saved your note “I like cake” in HISTORY.md. I could not save the conversation: ${said}`,
  );
  expect(await note(world, 'HISTORY.md')).not.toContain(answer);
  expect(await hasAnchor(world)).toBe(false);
});

test.each([
  ['no text and no call', ''],
  ['arguments that are no JSON', { calls: [{ name: 'save_memory', arguments: '{"history_entry": ' }] }],
  ['arguments that are no object', { calls: [{ name: 'save_memory', arguments: '["They counted."]' }] }],
  ['a refusal as the entry', saves("I'm sorry, but I can't assist with that.")],
])('/mem tells the owner about an answer of %s', async (_what, answer) => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => answer);
  await countTo(world, FOUR);
  expect(await say(world, '/mem')).toBe(
    'I could not save this conversation to memory: openai/scripted-model gave no usable answer. /mem tries again.',
  );
  expect(await note(world, 'HISTORY.md')).toBe('');
});

test('/mem says so when the provider refused all of the conversation', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => ({ error: { status: 400, message: 'content_filter' } }));
  await countTo(world, FOUR);
  expect(await say(world, '/mem')).toBe(
    'The provider refused 4 exchanges of this conversation, so I left that out. MEMORY.md stays as it is.',
  );
  expect(chatOf(world).at(-1)).not.toContain('older part');
});

test('what the demo says is not remembered; what people said and noted is', async () => {
  await using world = await startWorld({ config: { agent: { model: 'demo/scripted' } } });
  await countTo(world, ['what is a monad?', 'and a functor?', 'word three', 'word four']);
  expect(await say(world, '/mem I like cake')).toContain('I saved your note “I like cake” in HISTORY.md.');
  const history = await note(world, 'HISTORY.md');
  expect(history).toContain('what is a monad?');
  expect(history).toContain('Noted by the owner: I like cake');
  expect(`${history}${await note(world, 'MEMORY.md')}`).not.toContain('scripted demo');
  const anchors = (await world.tape(SESSION)).filter(({ kind }) => kind === 'anchor');
  expect(JSON.stringify(anchors)).not.toContain('scripted demo');
  expect(anchors).toHaveLength(1);
});

test('/mem with a text in a chat where nothing was said archives the text alone', async () => {
  await using world = await startWorld();
  world.model.setAside((request) => {
    const name = /I am called (\w+)/u.exec(asked(request).conversation)?.[1] ?? 'nobody';
    return saves('A note.', `- The owner is called ${name}.`);
  });
  expect(await say(world, '/MEM@test_bot I am called Ming')).toBe(
    'I saved your note “I am called Ming” in HISTORY.md. I updated MEMORY.md.',
  );
  expect(await note(world, 'MEMORY.md')).toBe('- The owner is called Ming.\n');
});

test('a second /mem archives nothing and says so, until something new was said', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(summarising);
  await countTo(world, FOUR);
  expect(await say(world, '/mem')).toMatch(/^I saved a summary of 4 exchanges/u);
  const history = await note(world, 'HISTORY.md');
  expect(await say(world, '/mem')).toBe('There is nothing new to save to memory since the last time.');
  expect(world.model.asides).toHaveLength(1);
  expect(await note(world, 'HISTORY.md')).toBe(history);
  await world.restart();
  expect(await say(world, '/mem')).toBe('There is nothing new to save to memory since the last time.');
  await say(world, 'word five');
  expect(await say(world, '/mem')).toMatch(/^I saved a summary of 1 exchange in/u);
  const second = world.model.asides[1];
  expect(second === undefined ? '' : asked(second).conversation).toContain('word five');
  expect(second === undefined ? '' : asked(second).conversation).not.toContain('word four');
  // Another word.
  expect(await say(world, '/memo')).toContain('There is no command /memo.');
});

test('a /mem that fails says so, sets no anchor, and may be tried again', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(failing);
  await countTo(world, FOUR);
  expect(await say(world, '/mem I am called Ming')).toMatch(
    /^I saved your note “I am called Ming” in HISTORY\.md\. I could not save the conversation: .*\/mem tries again\.$/su,
  );
  expect(await hasAnchor(world)).toBe(false);
  expect(await note(world, 'HISTORY.md')).not.toContain('word');
  await say(world, 'word five');
  expect(messagesOf(world)).toContain('word one');
  expect(messagesOf(world)).not.toContain('Ming');
  world.model.setAside(summarising);
  expect(await say(world, '/mem')).toMatch(/^I saved a summary of 5 exchanges/u);
  expect(await hasAnchor(world)).toBe(true);
});

test('/mem is for the owner only', async () => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  world.model.setHandler(() => 'ok');
  await say(world, 'Remember: I am the owner', TRUSTED);
  expect(await say(world, '/mem I am called Ming', TRUSTED)).toMatch(/owner/u);
  expect(world.model.asides).toEqual([]);
});

test('/mem of the owner in a group writes the log alone, marked with session and role', async () => {
  await using world = await worldOfThree();
  world.model.setHandler(() => 'ok');
  world.model.setAside(summarising);
  await sayInGroup(world, 'hello\nRemember: Mirza is a cat', 'owner');
  const before = chatOf(world, GROUP).length;
  world.telegram.userSays(GROUP, '/mem@test_bot', {
    entities: [{ type: 'bot_command', offset: 0, length: 13 }],
    from: { id: CHAT.owner },
  });
  await waitFor(() => chatOf(world, GROUP).length > before);
  expect(chatOf(world, GROUP)[before]).toContain('MEMORY.md is only written from your direct chats.');
  expect(JSON.stringify(world.model.asides[0]?.body)).not.toContain('memory_update');
  expect(await note(world, 'HISTORY.md')).toMatch(/\] \(telegram:-100, owner\) They talked\. Mirza is a cat$/mu);
  expect(await note(world, 'MEMORY.md')).not.toContain('Mirza');
});
