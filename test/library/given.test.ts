import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AppError, definePlugin, defineProvider, defineTool, z, type ModelEvent } from '../../src/app.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { startLibrary } from './library-world.ts';

const dice = defineTool({
  name: 'roll_dice',
  description: 'Rolls a die.',
  effect: 'none',
  parameters: z.object({ sides: z.int().describe('Number of sides, e.g. 6.') }),
  execute: async ({ sides }) => ({ title: `rolled ${sides}`, output: `${sides} it is`, metadata: {} }),
});

const echo = defineProvider({
  kind: 'echo',
  open: () => ({
    async *chat({ messages, model }): AsyncGenerator<ModelEvent> {
      const last = messages.findLast(({ role }) => role === 'user');
      const said = last?.role === 'user' ? last.content.map((part) => (part.type === 'text' ? part.text : '')) : [];
      const text = `echo: ${said.at(-1)}`;
      yield { type: 'text-delta', text };
      yield {
        type: 'end',
        stopReason: 'stop',
        response: { content: [{ type: 'text', text }], model, usage: noUsage },
      };
    },
  }),
});

describe('a program brings', () => {
  test('a tool, which the model calls like any other, also with a person asked before', async () => {
    const careful = defineTool({
      ...dice,
      name: 'roll_gold',
      effect: 'effect',
      plan: ({ sides }) => ({
        run: async () => ({ title: `rolled ${String(sides)}`, output: `${String(sides)} it is` }),
        asks: { title: 'Roll', detail: 'a golden die', reason: 'it costs money' },
      }),
    });
    await using library = await startLibrary({ tools: [dice, careful] });
    const { assistant, model } = library;
    const roll = (name: string): object => ({ calls: [{ name, arguments: { sides: 6 } }] });
    model.reply(roll('roll_dice'), 'six', roll('roll_gold'), 'gold', roll('roll_gold'), 'no gold');
    expect((await assistant.run('roll')).toolCalls).toMatchObject([{ name: 'roll_dice', ok: true, title: 'rolled 6' }]);
    const asked: string[] = [];
    const yes = await assistant.run('gold', {
      onApproval: async ({ title, detail }) => asked.push(`${title}: ${detail}`) > 0,
    });
    expect(yes.toolCalls).toMatchObject([{ name: 'roll_gold', ok: true }]);
    expect(asked).toEqual(['Roll: a golden die']);
    expect((await assistant.run('gold')).toolCalls).toMatchObject([{ name: 'roll_gold', ok: false }]);
  });

  test('a kind of provider, for agent.model and for one run', async () => {
    await using library = await startLibrary({ providers: [echo], config: { agent: { model: 'echo/any' } } });
    expect(await library.assistant.run('hello')).toMatchObject({
      text: expect.stringMatching(/^echo: .*hello$/su),
      provider: 'echo',
      model: 'echo/any',
    });
    library.model.reply('scripted');
    expect(await library.assistant.run('hi', { model: 'openai/x' })).toMatchObject({ text: 'scripted' });
  });

  test('hooks, and plugins that are objects, joined as those of packages are', async () => {
    const ended: string[] = [];
    const shout = definePlugin({
      name: 'shout',
      tools: [dice],
      commands: [{ name: 'shout', description: 'says it louder', run: ({ args }) => args.toUpperCase() }],
      hooks: { render: (_turn, text) => ({ type: 'replace', value: `${text}!` }) },
    });
    await using library = await startLibrary({
      plugins: [shout],
      hooks: { turnEnd: (_turn, { outcome }) => void ended.push(outcome) },
    });
    const { assistant, model } = library;
    model.reply('hello');
    expect((await assistant.run('hi')).text).toBe('hello!');
    expect(ended).toEqual(['answered']);
    expect((await assistant.run('/shout hey')).text).toBe('HEY');
    expect((await assistant.call('pluginsList', {})).map(({ name, state }) => `${name} ${state}`)).toEqual([
      'program running',
      'shout running',
    ]);
    await assistant.reload();
    expect((await assistant.run('/shout again')).text).toBe('AGAIN');
  });

  test('a plugin whose name a listed package has too: the package does not run, and a warning says why', async () => {
    const inside = definePlugin({
      name: 'twin',
      commands: [{ name: 'who', description: 'says who', run: () => 'the object' }],
    });
    await using library = await startLibrary({ plugins: [inside] });
    await library.assistant.close();
    const folder = join(library.home, 'plugins', 'twin');
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, 'package.json'),
      '{"name":"twin","type":"module","assistant":{"plugin":"./index.js"}}',
    );
    await writeFile(join(folder, 'index.js'), 'export default { name: "twin" };');
    const assistant = await library.start({ plugins: [inside], config: { plugins: ['twin'] } });
    expect((await assistant.run('/who')).text).toBe('the object');
    expect((await assistant.call('info', {})).warnings.join('\n')).toContain(
      'the program brings a plugin of this name itself',
    );
  });
});

describe('createAssistant refuses with one sentence', () => {
  const wrong: unknown = {
    name: 'x',
    description: 'y',
    effect: 'sometimes',
    parameters: z.object({}),
    execute: () => {},
  };
  test.each([
    ['a tool that is none', { tools: [wrong as never] }, /^createAssistant: tools\[0\] \(x\)\.effect must be /u],
    ['the name of a tool that exists', { tools: [{ ...dice, name: 'exec' }] }, /the tool "exec" exists already/u],
    ['the kind of a provider that exists', { providers: [{ ...echo, kind: 'openai' }] }, /provider "openai" exists/u],
    ['a hook that is none', { hooks: { before: () => {} } as never }, /^createAssistant: hooks\.before is not a hook/u],
    [
      'two plugins of one name',
      { plugins: [definePlugin({ name: 'a' }), definePlugin({ name: 'a' })] },
      /^createAssistant: two plugins have the name "a"\.$/u,
    ],
    [
      'skills that are no folder',
      { plugins: [definePlugin({ name: 'a', skills: './skills' })] },
      /^createAssistant: plugins\[0\]\.skills must be the absolute path of a folder/u,
    ],
  ])('%s', async (_what, settings, sentence) => {
    await using library = await startLibrary();
    await library.assistant.close();
    const error = await library.start(settings).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof AppError)) throw new Error('it started');
    expect(error.message).toMatch(sentence);
    // The home is free again.
    await (await library.start({})).close();
  });
});

describe('an assistant in a program', () => {
  test('fills a home that is new, and leaves one alone that is not', async () => {
    await using library = await startLibrary();
    expect(existsSync(join(library.home, 'state.db'))).toBe(true);
    const names = await readdir(library.workspace);
    for (const name of ['AGENTS.md', 'SOUL.md', 'USER.md']) expect(names).toContain(name);
    await library.assistant.close();
    await rm(join(library.workspace, 'SOUL.md'));
    await library.start();
    expect(await readdir(library.workspace)).not.toContain('SOUL.md');
  });

  test('closes once, however often it is asked to, and says what comes of a later run', async () => {
    await using library = await startLibrary();
    const { assistant } = library;
    await Promise.all([assistant.close(), assistant.close(), assistant[Symbol.asyncDispose]()]);
    await assistant.close();
    await expect(assistant.run('hi')).rejects.toThrow();
    library.model.reply('back');
    expect((await (await library.start()).run('hi')).text).toBe('back');
  });
});
