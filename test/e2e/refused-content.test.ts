import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ErrorStep, ModelApiRequest, Step } from '../support/model-script.ts';
import { GROUP } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type DialectName, type World, type WorldOptions } from '../support/world.ts';

/** Text that the provider's filter looks for. */
const POISON = 'zyxpoisonxyz';
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.from(POISON.repeat(20))]);
/** Is in the base64 of the refused picture, wherever that begins. */
const PICTURE = PNG.toString('base64').slice(24, 84);

const DIALECTS = ['openai', 'openai-responses', 'anthropic', 'ollama'] as const;

const REFUSAL: Readonly<Record<DialectName, ErrorStep['error']>> = {
  openai: {
    status: 400,
    code: 'content_filter',
    message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
  },
  'openai-responses': {
    status: 400,
    code: 'invalid_prompt',
    message: 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
  },
  anthropic: { status: 400, type: 'invalid_request_error', message: 'Output blocked by content filtering policy' },
  ollama: { status: 400, message: 'the request was blocked by the content filter' },
};

const holds = ({ text }: ModelApiRequest): boolean => text.includes(POISON) || text.includes(PICTURE);

/** Answers, but refuses whatever holds the poison; reads a file when told to. */
function filter(refusal: Step, refuses = holds): (request: ModelApiRequest) => Step {
  return (request) => {
    if (refuses(request)) return refusal;
    const { view } = request;
    if (!view.lastUserText.includes('read the file') || view.toolResults.length > 0)
      return `Answer: ${view.lastUserText.split('\n').at(-1)}`;
    return { calls: [{ name: 'read_file', arguments: { path: 'report.txt' } }] };
  };
}

async function say(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}` });
  return chatOf(world).at(-1) ?? '';
}

async function sendPicture(world: World, bytes = PNG, caption = 'what is on this picture'): Promise<string> {
  const before = chatOf(world).length;
  const id = `p${before}`;
  world.telegram.addFile(id, bytes, `photos/${id}.png`);
  const photo = [{ file_id: id, file_size: bytes.length }];
  world.telegram.userSays(OWNER, '', { text: undefined, photo, caption });
  await waitFor(() => chatOf(world).length > before, { what: 'an answer to the picture' });
  return chatOf(world).at(-1) ?? '';
}

async function remember(world: World, text: string): Promise<void> {
  await mkdir(join(world.workspace, 'memory'), { recursive: true });
  await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), `# Memory\n\n- ${text}\n`);
}

const withSkill =
  (name: string, description: string, body: string) =>
  async (home: string): Promise<void> => {
    const folder = join(home, 'workspace', 'skills', name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`);
  };

const CAUSES = {
  text: {
    poison: (world: World) => say(world, `my secret ${POISON} question`),
    reply: /refused.*left out/su,
    kept: [],
  },
  image: { poison: (world: World) => sendPicture(world), reply: /Answer.*image/su, kept: ['what is on this picture'] },
  'tool result': {
    poison: async (world: World) => {
      await writeFile(join(world.workspace, 'report.txt'), `A line.\n${POISON}\n`);
      return await say(world, 'please read the file');
    },
    reply: /Answer.*result/su,
    kept: ['please read the file'],
  },
  'MEMORY.md': {
    poison: async (world: World) => {
      await remember(world, `the owner likes ${POISON}`);
      return await say(world, 'what do I like?');
    },
    reply: /Answer.*MEMORY\.md/su,
    kept: ['what do I like?'],
  },
} satisfies Record<string, { poison: (world: World) => Promise<string>; reply: RegExp; kept: readonly string[] }>;

async function startConversation(options: WorldOptions, refusal: Step): Promise<World> {
  const world = await startWorld(options);
  world.model.setHandler(filter(refusal));
  world.model.setAside(filter(refusal));
  await remember(world, 'the owner has a cat');
  await say(world, 'my favourite colour is blue');
  return world;
}

function expectWhole(world: World, texts: readonly string[]): void {
  const last = world.model.requests.at(-1)?.text ?? '';
  for (const text of ['my favourite colour is blue', 'Answer: ', ...texts]) expect(last).toContain(text);
  expect(last).not.toContain(POISON);
  expect(last).not.toContain(PICTURE);
}

describe.each(DIALECTS)('what a provider refuses does not end the conversation: %s', (dialect) => {
  test.each(Object.entries(CAUSES))('%s', async (_name, { poison, reply, kept }) => {
    await using world = await startConversation({ dialect }, { error: REFUSAL[dialect] });
    expect(await poison(world)).toMatch(reply);
    const before = world.model.requests.length;
    expect(await say(world, 'and what is next?')).toBe('Answer: and what is next?');
    expect(world.model.requests.slice(before)).toHaveLength(1);
    expectWhole(world, kept);
    await world.restart();
    expect(await say(world, 'still there?')).toBe('Answer: still there?');
    expectWhole(world, [...kept, 'and what is next?']);
  });
});

describe('what is refused', () => {
  const filtered = { error: REFUSAL.openai } as const;

  test('can be the text of a skill, called or loaded, and its description', async () => {
    await using world = await startConversation({ furnish: withSkill('helper', 'Helps.', POISON) }, filtered);
    expect(await say(world, '$helper please')).toMatch(/^Answer: .*refused.*skill/su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['$helper please']);
    await withSkill('other', `Finds ${POISON}.`, 'Body.')(world.home);
    expect(await say(world, 'what can you do?')).toMatch(/^Answer: what can you do\?.*refused.*the list of skills/su);
    expect(await say(world, 'go on')).toBe('Answer: go on');
    expectWhole(world, ['$helper please', 'what can you do?']);
  });

  test('is found by the finish reason, too, whatever the provider calls it', async () => {
    const GATEWAYS = [
      'content_filter: PROHIBITED_CONTENT',
      'MODEL_ARMOR',
      'content-filtered',
      'contentFilter',
      'flagged',
    ];
    const reasons = [
      'content_filter',
      'content_policy_violation',
      'safety_block',
      'input_moderation',
      'sensitive',
      'SAFETY',
      'blocked',
      'IMAGE_PROHIBITED_CONTENT',
    ];
    for (const finishReason of [...reasons, ...GATEWAYS]) {
      await using world = await startConversation({}, { text: '', finishReason });
      expect(await say(world, `say ${POISON}`)).toMatch(/refused.*content rules.*left out/su);
      expect(await say(world, 'next')).toBe('Answer: next');
      expectWhole(world, []);
    }
  });

  test.each([
    ['openai', 'sensitive'],
    ['anthropic', 'refusal'],
    ['openai-responses', 'content_filter'],
  ] as const)('half an answer stays, and what led to it is left out: %s', async (dialect, finishReason) => {
    await using world = await startConversation({ dialect }, { text: 'It begins with', finishReason });
    expect(await say(world, `say ${POISON}`)).toMatch(/^It begins with.*refused to go on.*left out/su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['It begins with']);
  });

  test.each([
    ['openai', 'content_filter'],
    ['anthropic', 'refusal'],
    ['openai-responses', 'content_filter'],
    ['ollama', 'content_filter'],
  ] as const)('is MEMORY.md, though every answer begins and is cut short: %s', async (dialect, finishReason) => {
    await using world = await startConversation({ dialect }, { text: 'It begins with', finishReason });
    await remember(world, `the owner likes ${POISON}`);
    expect(await say(world, 'what do I like?')).toMatch(/^It begins with.*refused to go on/su);
    expect(await say(world, 'and now?')).toMatch(/^Answer: and now\?.*MEMORY\.md/su);
    const before = world.model.requests.length;
    expect(await say(world, 'next')).toBe('Answer: next');
    expect(world.model.requests.slice(before)).toHaveLength(1);
    expectWhole(world, ['It begins with', 'and now?']);
  });

  test.each([
    ['openai', 'content_filter'],
    ['anthropic', 'refusal'],
    ['ollama', 'content_filter'],
  ] as const)(
    'may cut off a call, which is not run and not asked for again and again: %s',
    async (dialect, finishReason) => {
      await using world = await startConversation({ dialect }, filtered);
      const args = { path: 'a.txt', content: POISON };
      world.model.setHandler((request) =>
        request.view.lastUserText.endsWith('do it')
          ? { calls: [{ name: 'write_file', arguments: args }], finishReason }
          : `Answer: ${request.view.lastUserText.split('\n').at(-1)}`,
      );
      const before = world.model.requests.length;
      expect(await say(world, 'do it')).toMatch(/refused.*left out/su);
      expect(world.model.requests.slice(before).length).toBeLessThanOrEqual(7);
      expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
      expect(await say(world, 'next')).toBe('Answer: next');
      expectWhole(world, []);
    },
  );

  test('is found in what Azure says behind words that mean anything', async () => {
    const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: { hate: { filtered: true } } };
    const body = { error: { message: 'The request failed.', type: null, param: 'prompt', code: null, innererror } };
    await using world = await startConversation({}, { error: { status: 400, body } });
    expect(await say(world, `say ${POISON}`)).toMatch(/refused.*left out/su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, []);
  });

  test.each([
    [403, 'content_filter'],
    [403, 'moderation'],
    [421, 'content_filter'],
  ])('is refused with another status: %i %s', async (status, code) => {
    await using world = await startConversation({}, { error: { status, code, message: 'No.' } });
    expect(await say(world, `say ${POISON}`)).toMatch(/refused.*left out/su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, []);
  });

  test('is no account that is refused', async () => {
    const denied = { status: 403, message: 'This key may not use the content filter.' };
    await using world = await startConversation({}, { error: denied });
    expect(await say(world, `say ${POISON}`)).toContain('may do');
    expect(world.model.requests).toHaveLength(2);
  });

  test.each([400, 406, 421, 422, 451])('may be refused with words that nobody knows: %s', async (status) => {
    await using world = await startConversation({}, { error: { status, message: 'Frobnication failed.' } });
    const reply = await say(world, `say ${POISON}`);
    expect(reply).toContain('Frobnication failed');
    expect(reply).not.toContain('left out');
    expect(await say(world, 'next')).toMatch(
      /^Answer: next\n\n.* refused the request because of (1|2|3) earlier messages? of/u,
    );
    expect(await say(world, 'and then?')).toBe('Answer: and then?');
    expectWhole(world, ['next']);
  });

  test.each(['the first message', '/new', '/model openai/other-model'])(
    'may be refused with words that nobody knows before anything was accepted: %s',
    async (before) => {
      await using world = await startWorld({});
      world.model.setHandler(filter({ error: { status: 400, message: 'Frobnication failed.' } }));
      await remember(world, 'the owner has a cat');
      if (before.startsWith('/')) {
        await say(world, 'hello');
        await say(world, before);
      }
      expect(await say(world, `say ${POISON}`)).toContain('Frobnication failed');
      expect(await say(world, 'next')).toMatch(/^Answer: next/u);
      expect(await say(world, 'and then?')).toBe('Answer: and then?');
      const last = world.model.requests.at(-1)?.text ?? '';
      expect(last).not.toContain(POISON);
      for (const text of ['the owner has a cat', 'next']) expect(last).toContain(text);
    },
  );

  test.each([1, 2, 3])('is nothing when an error that nothing explains passes after %i refusals', async (refusals) => {
    await using world = await startConversation({}, filtered);
    await remember(world, 'the owner has a dog');
    let left = refusals;
    world.model.setHandler((request) => {
      left -= 1;
      return left < 0 ? filter(filtered)(request) : { error: { status: 400, message: 'Frobnication failed.' } };
    });
    expect(await say(world, 'how are you?')).toBe('Answer: how are you?');
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['Answer: my favourite colour is blue', 'how are you?', 'the owner has a dog']);
  });

  test('is a summary: the conversation goes on without it, also after a restart', async () => {
    await using world = await startConversation({}, filtered);
    await say(world, `/tape handoff We spoke of ${POISON}.`);
    expect(await say(world, 'are you there?')).toMatch(/^Answer: are you there\?.*the summary of the earlier/su);
    expect(await say(world, 'next')).toBe('Answer: next');
    await world.restart();
    expect(await say(world, 'and then?')).toBe('Answer: and then?');
    expect(world.model.requests.at(-1)?.text).not.toContain(POISON);
    expect(world.model.requests.at(-1)?.text).toContain('The summary was left out');
  });

  test("is the model's own answer, or the arguments of its call: the message after it is answered", async () => {
    await using world = await startConversation({}, filtered);
    world.model.setHandler((request) => {
      const said = request.view.lastUserText;
      if (holds(request)) return filtered;
      if (said.endsWith('say it')) return `I say ${POISON}`;
      if (said.endsWith('do it') && request.view.toolResults.length === 0)
        return { calls: [{ name: 'write_file', arguments: { path: 'a.txt', content: POISON } }] };
      return `Answer: ${said.split('\n').at(-1)}`;
    });
    await say(world, 'say it');
    expect(await say(world, 'next')).toMatch(/^Answer: next\n\n.*because of (1|2|3) earlier messages? of/u);
    expect(await say(world, 'do it')).toMatch(/^Answer: do it\n\n.*because of something that I wrote/u);
    expect(await say(world, 'and then?')).toBe('Answer: and then?');
    expectWhole(world, ['say it', 'next', 'do it']);
  });

  test('in a group is what a guest wrote before, or is quoted: the question is answered without it', async () => {
    const telegram = { allowFrom: ['42', '*'], owners: ['42'], groups: { debounceMs: 0, followUpSeconds: 0 } };
    await using world = await startConversation({ config: { channels: { telegram } } }, filtered);
    const ask = async (text: string, more: object = {}): Promise<string> => {
      const before = chatOf(world, GROUP).length;
      world.telegram.userSays(GROUP, `@test_bot ${text}`, {
        from: { id: 42, first_name: 'Ann' },
        entities: [{ type: 'mention', offset: 0, length: 9 }],
        ...more,
      });
      await waitFor(() => chatOf(world, GROUP).length > before, { what: `an answer to ${text}` });
      return chatOf(world, GROUP).at(-1) ?? '';
    };
    expect(await ask('hello')).toMatch(/^Answer: .*hello$/u);
    world.telegram.userSays(GROUP, `look: ${POISON}`, { from: { id: 66, first_name: 'Eve' } });
    expect(await ask('what do you think?')).toMatch(/^Answer: .*what do you think\?\n\n.*what others wrote\./u);
    const reply_to_message = {
      message_id: 4711,
      date: 1,
      chat: { id: GROUP, type: 'supergroup', title: 'G' },
      from: { id: 66, is_bot: false, first_name: 'Eve' },
      text: `quoted ${POISON}`,
    };
    expect(await ask('and this?', { reply_to_message })).toMatch(/^Answer: .*and this\?\n\n.*what others wrote\./u);
    expect(await ask('thanks')).toMatch(/^Answer: .*thanks$/u);
    const last = world.model.requests.at(-1)?.text ?? '';
    expect(last).not.toContain(POISON);
    for (const text of ['hello', 'what do you think?', 'and this?', 'Ann']) expect(last).toContain(text);
  });

  test('is a forwarded message, or the result of a subagent: the turn goes on without it', async () => {
    await using world = await startConversation({}, filtered);
    const before = chatOf(world).length;
    world.telegram.userSays(OWNER, `look: ${POISON}`, { forward_date: 1 });
    await waitFor(() => chatOf(world).length > before, { what: 'an answer to the forwarded message' });
    expect(chatOf(world).at(-1)).toMatch(/because of what others wrote\./u);
    world.model.setHandler((request) => {
      if (holds(request)) return filtered;
      const { lastUserText, toolResults, tools } = request.view;
      if (!tools.includes('spawn')) return `I found ${POISON}`;
      if (lastUserText.endsWith('delegate') && toolResults.length === 0)
        return { calls: [{ name: 'spawn', arguments: { task: 'find it', wait: false } }] };
      return `Answer: ${lastUserText.split('\n').at(-1)}`;
    });
    await say(world, 'delegate');
    await waitFor(() => chatOf(world).at(-1)?.includes('because of') === true && chatOf(world).length > before + 2, {
      what: 'the result of the subagent',
    });
    expect(chatOf(world).at(-1)).toMatch(/^Answer: .*because of what others wrote\./su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['delegate']);
  });

  test('is one of several: the other files, images and results stay', async () => {
    await using world = await startConversation({}, filtered);
    for (const name of ['AGENTS', 'SOUL', 'TOOLS'])
      await writeFile(join(world.workspace, `${name}.md`), `Be ${name}.\n`);
    await writeFile(join(world.workspace, 'USER.md'), `Likes ${POISON}.\n`);
    expect(await say(world, 'what do I like?')).toMatch(/^Answer: what do I like\?\n\n.*because of USER\.md\./u);
    for (const name of ['AGENTS', 'SOUL', 'TOOLS', 'the owner has a cat'])
      expect(world.model.requests.at(-1)?.text).toContain(name);
    await writeFile(join(world.workspace, 'good.txt'), 'a good line\n');
    await writeFile(join(world.workspace, 'bad.txt'), `${POISON}\n`);
    world.model.setHandler((request) => {
      if (holds(request)) return filtered;
      if (!request.view.lastUserText.endsWith('read both') || request.view.toolResults.length > 0)
        return `Answer: ${request.view.lastUserText.split('\n').at(-1)}`;
      return { calls: ['bad.txt', 'good.txt'].map((path) => ({ name: 'read_file', arguments: { path } })) };
    });
    expect(await say(world, 'read both')).toMatch(/^Answer: read both\n\n.*because of the result of .?read_file.?\./u);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['a good line', 'read both']);
  });

  test('is one picture of an album: the other one stays', async () => {
    await using world = await startConversation({}, filtered);
    const good = Buffer.concat([PNG.subarray(0, 16), Buffer.from('a fine picture '.repeat(20))]);
    const before = chatOf(world).length;
    for (const [id, bytes] of Object.entries({ good, bad: PNG })) {
      world.telegram.addFile(id, bytes, `photos/${id}.png`);
      const photo = [{ file_id: id, file_size: bytes.length }];
      world.telegram.userSays(OWNER, '', { text: undefined, photo, caption: 'what is here', media_group_id: '77' });
    }
    await waitFor(() => chatOf(world).length > before, { what: 'an answer to the album' });
    expect(chatOf(world).at(-1)).toMatch(/^Answer: what is here.*because of an image\./su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['what is here', good.toString('base64')]);
  });

  test('is looked for at one model alone: with fallbacks it takes 6 calls more at most', async () => {
    const config = { agent: { fallbacks: ['openai/second'] } };
    await using world = await startConversation({ config }, filtered);
    for (const name of ['AGENTS', 'SOUL', 'TOOLS'])
      await writeFile(join(world.workspace, `${name}.md`), `Be ${name}.\n`);
    await remember(world, `likes ${POISON}`);
    const before = world.model.requests.length;
    expect(await say(world, 'what do I like?')).toMatch(/^Answer: what do I like\?.*MEMORY\.md/su);
    // Two calls were refused, one for each model; the last of the others gave the answer.
    expect(world.model.requests.slice(before).length).toBeLessThanOrEqual(2 + 6);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['Be AGENTS']);
  });

  test('is one image that the server cannot read: those that it accepted stay', async () => {
    const good = Buffer.concat([PNG.subarray(0, 16), Buffer.from('a fine picture '.repeat(20))]);
    await using world = await startConversation({}, { error: { status: 400, message: 'Could not process image' } });
    expect(await sendPicture(world, good, 'a fine one')).toMatch(/^Answer: a fine one/u);
    expect(await sendPicture(world)).toMatch(/^Answer.*refused.*an image/su);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['what is on this picture', good.toString('base64')]);
  });

  test('is left out of a conversation that another model takes over with /model', async () => {
    const isOther = ({ view }: ModelApiRequest): boolean => view.model === 'other-model';
    await using world = await startConversation({}, filtered);
    world.model.setHandler(filter(filtered, (request) => isOther(request) && holds(request)));
    await say(world, `I said ${POISON}`);
    await say(world, 'something else');
    expect(await say(world, '/model openai/other-model')).toContain('other-model');
    expect(await say(world, 'are you there?')).toMatch(
      /^Answer: are you there\?.*because of 2 earlier messages of the conversation/su,
    );
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['something else', 'are you there?']);
  });

  test('may be two messages for another model: the others and the memory stay', async () => {
    const isOther = ({ view }: ModelApiRequest): boolean => view.model === 'other-model';
    await using world = await startConversation({}, filtered);
    world.model.setHandler(filter(filtered, (request) => isOther(request) && holds(request)));
    for (const text of ['the first', `I said ${POISON}`, 'the third', 'the fourth', `${POISON} again`, 'the sixth'])
      await say(world, text);
    await say(world, '/model openai/other-model');
    const before = world.model.requests.length;
    expect(await say(world, 'are you there?')).toMatch(/^Answer: are you there\?.*earlier messages/su);
    expect(world.model.requests.slice(before).length).toBeLessThanOrEqual(7);
    for (const text of ['next', 'and then?']) expect(await say(world, text)).toMatch(/^Answer: /u);
    const last = world.model.requests.at(-1)?.text ?? '';
    expect(last).not.toContain(POISON);
    for (const text of ['the owner has a cat', 'the first', 'the third', 'the fourth', 'the sixth', 'next'])
      expect(last).toContain(text);
  });

  test('stays when a fallback accepts it', async () => {
    const config = { agent: { fallbacks: ['openai/tolerant'] } };
    await using world = await startConversation({ config }, filtered);
    world.model.setHandler(filter(filtered, (request) => request.view.model !== 'tolerant' && holds(request)));
    expect(await say(world, `say ${POISON}`)).toMatch(/^Answer: say/su);
    expect(await say(world, 'next')).toMatch(/^Answer: next/su);
    expect(world.model.requests.at(-1)?.text).toContain(POISON);
  });

  test('is sent to a fallback, too, when nobody knows the words of the refusal', async () => {
    const config = { agent: { fallbacks: ['openai/tolerant'] } };
    await using world = await startConversation({ config }, filtered);
    const unknown = { error: { status: 400, message: 'Frobnication failed.' } } as const;
    world.model.setHandler(filter(unknown, (request) => request.view.model !== 'tolerant' && holds(request)));
    const before = world.model.requests.length;
    expect(await say(world, `say ${POISON}`)).toMatch(/^Answer: say/su);
    expect(world.model.requests.slice(before)).toHaveLength(2);
  });

  test('may be the results of two rounds of one turn: what was good in them stays', async () => {
    await using world = await startConversation({}, filtered);
    for (const name of ['bad-1', 'bad-2']) await writeFile(join(world.workspace, `${name}.txt`), `${POISON}\n`);
    await writeFile(join(world.workspace, 'good.txt'), 'a good line\n');
    // The files to read, by how many results of the last round the request has.
    const reads = new Map([
      [0, ['bad-1.txt', 'good.txt']],
      [2, ['bad-2.txt']],
    ]);
    world.model.setHandler((request) => {
      if (holds(request)) return filtered;
      const { lastUserText, toolResults } = request.view;
      const paths = lastUserText.endsWith('read them') ? reads.get(toolResults.length) : undefined;
      if (paths === undefined) return `Answer: ${lastUserText.split('\n').at(-1)}`;
      return { calls: paths.map((path) => ({ name: 'read_file', arguments: { path } })) };
    });
    expect(await say(world, 'read them')).toMatch(/^Answer: read them\n\n.*the result of/u);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['a good line', 'read them']);
  });

  test('may have been accepted before: the first message after the provider changed its mind is answered', async () => {
    await using world = await startConversation({}, filtered);
    world.model.setHandler(filter(filtered, () => false));
    await say(world, `I like ${POISON}`);
    await say(world, 'something else');
    world.model.setHandler(filter(filtered));
    expect(await say(world, 'are you there?')).toMatch(
      /^Answer: are you there\?\n\n.*because of .*earlier messages? of/u,
    );
    await say(world, 'and now?');
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['something else', 'the owner has a cat', 'are you there?']);
  });

  test.each([
    ['words nobody knows', { error: { status: 400, message: 'Frobnication failed.' } }, 0],
    ['words nobody knows', { error: { status: 400, message: 'Frobnication failed.' } }, 11],
    ['words nobody knows', { error: { status: 400, message: 'Frobnication failed.' } }, 22],
    ['a content filter', filtered, 5],
    ['a content filter', filtered, 17],
  ] as const)('may be one old turn of 24, refused with %s: it alone stays out', async (_words, refusal, at) => {
    await using world = await startConversation({}, filtered);
    world.model.setHandler(filter(filtered, () => false));
    const texts = Array.from({ length: 23 }, (_, number) => `turn-${number}-${number === at ? POISON : ''}.`);
    for (const text of texts) await say(world, text);
    world.model.setHandler(filter(refusal));
    const asked = ['are you there?', 'and now?', 'so?', 'well?'];
    for (const text of asked) {
      const before = world.model.requests.length;
      expect(await say(world, text)).toMatch(new RegExp(`^Answer: ${text.replace('?', '\\?')}`, 'u'));
      expect(world.model.requests.slice(before).length).toBeLessThanOrEqual(7);
    }
    const before = world.model.requests.length;
    expect(await say(world, 'next')).toBe('Answer: next');
    expect(world.model.requests.slice(before)).toHaveLength(1);
    expectWhole(world, ['the owner has a cat', ...asked, ...texts.filter((_, number) => number !== at)]);
  });

  test('is searched for with few calls, and the search ends when the budget does', async () => {
    // Nothing was accepted before, so any layer of the prompt may be the cause.
    await using world = await startWorld({ config: { agent: { budget: { turnTokens: 12 } } } });
    world.model.setHandler(filter(filtered));
    await remember(world, `likes ${POISON}`);
    expect(await say(world, 'what do I like?')).toMatch(/budget.*used up/su);
    expect(world.model.requests).toHaveLength(2);
    expect(await say(world, 'next')).toMatch(/^Answer: next/u);
    expect(world.model.requests).toHaveLength(3);
  });

  test('is looked for with one more call only, once two searches found nothing', async () => {
    await using world = await startConversation({}, filtered);
    world.model.setHandler(() => ({ error: { status: 400, message: 'top_k: unknown field' } }));
    for (const text of ['one', 'two']) await say(world, text);
    const before = world.model.requests.length;
    expect(await say(world, 'three')).toContain('top_k: unknown field');
    expect(world.model.requests.slice(before)).toHaveLength(2);
    world.model.setHandler(filter(filtered));
    expect(await say(world, 'four')).toBe('Answer: four');
    expectWhole(world, ['one', 'two', 'three']);
  });

  test('may be two messages in a row that are refused in words nobody knows', async () => {
    const unknown = { error: { status: 400, message: 'The request was declined.' } } as const;
    await using world = await startConversation({}, unknown);
    for (const text of [`say ${POISON}`, `please say ${POISON}`]) await say(world, text);
    expect(await say(world, 'are you there?')).toMatch(/^Answer: are you there\?/u);
    expect(await say(world, 'good')).toBe('Answer: good');
    expectWhole(world, ['are you there?']);
  });

  test('stays out when a hook denies the next trial', async () => {
    let trials = 0;
    const beforeModel = () => {
      trials += 1;
      return trials === 4 ? { type: 'deny' as const, reason: 'Not today.' } : undefined;
    };
    await using world = await startConversation({ hooks: [{ owner: 'strict', hooks: { beforeModel } }] }, filtered);
    await withSkill('helper', 'Helps.', 'Body.')(world.home);
    expect(await say(world, `$helper ${POISON}`)).toContain('Not today.');
    expect(trials).toBe(4);
    expect(await say(world, 'next')).toMatch(/^Answer: next/u);
    expectWhole(world, []);
  });

  test('is not taken for more than was proven when a hook denies the first trial', async () => {
    let requests = 0;
    const beforeModel = () => {
      requests += 1;
      return requests === 5 ? { type: 'deny' as const, reason: 'Not today.' } : undefined;
    };
    await using world = await startConversation({ hooks: [{ owner: 'strict', hooks: { beforeModel } }] }, filtered);
    const isOther = ({ view }: ModelApiRequest): boolean => view.model === 'other-model';
    world.model.setHandler(filter(filtered, (request) => isOther(request) && holds(request)));
    await say(world, `I said ${POISON}`);
    await say(world, 'something else');
    await say(world, '/model openai/other-model');
    expect(await say(world, 'are you there?')).toContain('Not today.');
    expect(requests).toBe(5);
    expect(await say(world, 'next')).toMatch(/^Answer: next/u);
    expectWhole(world, ['something else', 'the owner has a cat']);
  });

  test('is searched for from where the search was when the program ended', async () => {
    await using world = await startConversation({}, filtered);
    await remember(world, `likes ${POISON}`);
    let trials = 0;
    world.model.setHandler((request) => {
      if (holds(request)) return filtered;
      trials += 1;
      return { fault: 'hang' };
    });
    world.telegram.userSays(OWNER, 'what do I like?');
    await waitFor(() => trials > 0, { what: 'the first trial' });
    const before = world.model.requests.length;
    const told = chatOf(world).length;
    world.model.setHandler(filter(filtered));
    await world.restart();
    await waitFor(() => chatOf(world).length > told, { what: 'the answer after the restart' });
    expect(chatOf(world).at(-1)).toMatch(/^Answer: what do I like\?.*MEMORY\.md/su);
    // The trial that was cut short is the first one that is sent again.
    expect(world.model.requests.slice(before, before + 1).map(holds)).toEqual([false]);
    expect(await say(world, 'next')).toBe('Answer: next');
    expectWhole(world, ['what do I like?']);
  });

  test('is not written into a summary, and the rest is saved', async () => {
    await using world = await startConversation({}, { text: '', finishReason: 'content_filter' });
    let saved = '';
    world.model.setHandler((request) => `Answer: ${request.view.lastUserText.split('\n').at(-1)}`);
    world.model.setAside((request) => {
      if (holds(request)) return filtered;
      saved = request.text;
      return { calls: [{ name: 'save_memory', arguments: { history_entry: 'They talked of colours.' } }] };
    });
    await say(world, `now about ${POISON}`);
    for (const text of ['one', 'two', 'three']) await say(world, text);
    await say(world, '/new');
    await waitFor(() => chatOf(world).some((text) => /refused 1 exchange/u.test(text)), { what: 'the notice' });
    expect(saved).toContain('my favourite colour is blue');
    expect(saved).toContain('three');
    expect(world.model.asides.length).toBeLessThanOrEqual(7);
  });

  test('is not written into a summary either when nobody knows the words of the refusal', async () => {
    const unknown = { error: { status: 400, message: 'Frobnication failed.' } } as const;
    await using world = await startConversation({}, filtered);
    world.model.setHandler((request) => `Answer: ${request.view.lastUserText.split('\n').at(-1)}`);
    let isBroken = true;
    world.model.setAside((request) =>
      isBroken || holds(request)
        ? unknown
        : { calls: [{ name: 'save_memory', arguments: { history_entry: 'They talked of colours.' } }] },
    );
    await say(world, `now about ${POISON}`);
    for (const text of ['one', 'two']) await say(world, text);
    expect(await say(world, '/mem')).toMatch(/could not save this conversation.*Frobnication failed/su);
    isBroken = false;
    expect(await say(world, '/mem')).toMatch(
      /saved a summary of 3 exchanges.*refused 1 exchange of this conversation/su,
    );
  });

  test('at the end of a long conversation costs its summary little', async () => {
    await using world = await startConversation({}, filtered);
    world.model.setHandler(({ view }) => `Answer: ${view.lastUserText.split('\n').at(-1)}`);
    let saved = '';
    world.model.setAside((request) => {
      if (holds(request)) return filtered;
      saved = request.text;
      return { calls: [{ name: 'save_memory', arguments: { history_entry: 'They talked of colours.' } }] };
    });
    const numbers = Array.from({ length: 32 }, (_, at) => `number-${at}-`);
    for (const text of numbers) await say(world, text);
    await say(world, `now about ${POISON}`);
    await say(world, '/new');
    await waitFor(() => chatOf(world).some((text) => /refused [1-4] exchange/u.test(text)), { what: 'the notice' });
    expect(numbers.filter((text) => !saved.includes(text)).length).toBeLessThanOrEqual(3);
    expect(world.model.asides.length).toBeLessThanOrEqual(7);
    expect(saved).toContain('the owner has a cat');
  });

  test('in a group is named to the owner alone', async () => {
    const telegram = { allowFrom: ['42', '43'], owners: ['42'], groups: { debounceMs: 0, followUpSeconds: 0 } };
    await using world = await startConversation({ config: { channels: { telegram } } }, filtered);
    await writeFile(join(world.workspace, 'AGENTS.md'), `Talk of ${POISON}.\n`);
    const before = chatOf(world).length;
    world.telegram.userSays(GROUP, '@test_bot hello', {
      from: { id: 43, first_name: 'Bob' },
      entities: [{ type: 'mention', offset: 0, length: 9 }],
    });
    await waitFor(() => chatOf(world, GROUP).length > 0 && chatOf(world).length > before, {
      what: 'answer and notice',
    });
    expect(chatOf(world, GROUP)[0]).toMatch(/a part of my instructions/u);
    expect(chatOf(world, GROUP).join('\n')).not.toContain('AGENTS.md');
    expect(chatOf(world).at(-1)).toContain('AGENTS.md');
  });

  test('is told by /why', async () => {
    await using world = await startConversation({}, filtered);
    await CAUSES['MEMORY.md'].poison(world);
    expect(await say(world, '/why')).toMatch(/refused.*MEMORY\.md/su);
    await say(world, `my ${POISON}`);
    expect(await say(world, '/why')).toMatch(/refused.*left out of later requests/su);
  });
});
