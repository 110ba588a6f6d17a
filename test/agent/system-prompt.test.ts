import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SystemPrompt } from '../../src/core/agent/prompt/system-prompt.ts';
import { memoryLayer } from '../../src/extensions/memory/layer.ts';
import type { App } from '../../src/core/app.ts';
import { appWith } from '../support/app-with.ts';
import { tempFolder } from '../support/temp.ts';

async function promptOf(): Promise<{ readonly prompt: SystemPrompt } & AsyncDisposable> {
  const folder = await tempFolder();
  await mkdir(join(folder.path, 'memory'));
  for (const [name, text] of [
    ['USER.md', 'Ann, 41'],
    ['SOUL.md', 'Be kind'],
    ['memory/MEMORY.md', 'owes Ben ten'],
  ] as const) {
    await writeFile(join(folder.path, name), text);
  }
  const app = appWith({
    paths: { workspace: folder.path } as App['paths'],
    config: { tools: { restrictToWorkspace: true, readRoots: [] as readonly string[] } } as App['config'],
    plugins: {
      each: () => [['memory', [memoryLayer(join(folder.path, 'memory', 'MEMORY.md'))]]],
    } as unknown as App['plugins'],
  });
  const prompt = new SystemPrompt(app, async () => ({ active: null, index: null, shortIndex: null }));
  return { prompt, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const OWNERS = { ownersDirectChat: true, shows: null };
const OTHERS = { ownersDirectChat: false, shows: null };

test('what is the owner’s alone is in the prompt of their direct chats', async () => {
  await using world = await promptOf();
  const { texts } = await world.prompt.read(OWNERS);
  for (const part of ['Ann, 41', 'Be kind', 'owes Ben ten']) expect(texts.join('\n')).toContain(part);
});

test('it is in no other, not even after the owner’s was made, and the other way round', async () => {
  await using world = await promptOf();
  for (const audience of [OTHERS, OWNERS, OTHERS, OWNERS]) {
    const { texts, layers } = await world.prompt.read(audience);
    const isTheirs = audience === OWNERS;
    expect(texts.join('\n').includes('Ann, 41')).toBe(isTheirs);
    expect(texts.join('\n').includes('owes Ben ten')).toBe(isTheirs);
    expect(layers.some(({ name }) => name === 'memory')).toBe(isTheirs);
    expect(texts.join('\n')).toContain('Be kind');
  }
});
