import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ErrorStep, ModelApiRequest, Step } from '../support/model-script.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type DialectName, type World, type WorldOptions } from '../support/world.ts';

/** Text that the provider's filter looks for. */
const POISON = 'zyxpoisonxyz';
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.from(POISON.repeat(20))]);
/** Is in the base64 of the refused picture, wherever that begins. */
const PICTURE = PNG.toString('base64').slice(0, 60);

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

async function sendPicture(world: World): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.addFile('p', PNG, 'photos/p.png');
  const photo = [{ file_id: 'p', file_size: PNG.length }];
  world.telegram.userSays(OWNER, '', { text: undefined, photo, caption: 'what is on this picture' });
  await waitFor(() => chatOf(world).length > before, { what: 'an answer to the picture' });
  return chatOf(world).at(-1) ?? '';
}

async function remember(world: World, text: string): Promise<void> {
  await mkdir(join(world.workspace, 'memory'), { recursive: true });
  await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), `# Memory\n\n- ${text}\n`);
}

const CAUSES = {
  text: {
    poison: (world: World) => say(world, `my secret ${POISON} question`),
    reply: /refused.*left out/su,
    kept: [],
  },
  image: { poison: sendPicture, reply: /Answer.*image/su, kept: ['what is on this picture'] },
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
