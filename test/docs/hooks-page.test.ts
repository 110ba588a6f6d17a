import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const PAGE = await readFile(fileURLToPath(new URL('../../docs/hooks.md', import.meta.url)), 'utf8');

/** The code of each stage's example, by the names of its heading. */
const EXAMPLES = new Map(
  PAGE.split('\n### ')
    .slice(1)
    .map((section) => {
      const names = [...(section.split('\n')[0] ?? '').matchAll(/(\w+)\(/gu)].map(([, name]) => name ?? '');
      return [names.join(' '), /```js\n(.*?)```/su.exec(section)?.[1] ?? ''] as const;
    }),
);

interface Run {
  readonly world: World;
  /** What the example wrote into the home. */
  readonly log: () => Promise<string>;
}

const OK = 'Fine.';
const says = async ({ world }: Run, answer: string): Promise<void> => {
  world.model.reply(OK);
  expect((await world.assistant.run('hi')).text).toBe(answer);
};

/** What each example does, seen from outside. */
const SHOWS: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  session: async (run) => {
    await says(run, OK);
    const day = new Date().toISOString().slice(0, 10);
    expect((await run.world.tape(`terminal:${day}`)).length).toBeGreaterThan(0);
  },
  admit: async (run) => {
    expect((await run.world.assistant.run('roll a dice')).text).toBe('No games of chance.');
    await says(run, OK);
  },
  'loadState saveState': async (run) => {
    await says(run, OK);
    await waitFor(async () => /^\d+ ms\n$/u.test(await run.log()), { what: 'the time' });
  },
  prompt: async (run) => {
    await says(run, OK);
    expect(run.world.model.requests[0]?.view.system).toContain('Always answer in one polite sentence.');
  },
  model: async ({ world }) => {
    expect((await world.assistant.run('hi')).model).toBe('demo/demo');
    world.model.reply(OK);
    expect((await world.assistant.run('this is a much longer question')).text).toBe(OK);
  },
  beforeModel: async (run) => {
    await says(run, OK);
    expect(run.world.model.requests[0]?.body['temperature']).toBe(0.1);
  },
  runModel: async (run) => {
    await says(run, OK);
    expect((await run.world.assistant.run('hi')).text).toBe(OK);
    expect(run.world.model.requests).toHaveLength(1);
  },
  'beforeTool afterTool': async ({ world }) => {
    world.model.reply(
      {
        calls: [
          { name: 'exec', arguments: { command: 'date' } },
          { name: 'list_dir', arguments: {} },
        ],
      },
      OK,
    );
    await world.assistant.run('look');
    const results = world.model.requests.at(-1)?.view.toolResults.map(({ text }) => text) ?? [];
    expect(results[0]).toContain('No commands today.');
    expect(results[1]).toContain('An empty folder.');
  },
  render: async ({ world }) => {
    world.model.reply('Call +49 30 1234567.');
    expect((await world.assistant.run('how?')).text).toBe('Call [number].');
  },
  onError: async ({ world }) => {
    world.model.reply({ error: { status: 401, message: 'no' } });
    expect((await world.assistant.run('hi')).text).toMatch(/^Sorry, that did not work\. .*API key/su);
  },
  dispatch: async ({ world }) => {
    world.model.reply(OK);
    world.telegram.userSays(OWNER, 'hi');
    await waitFor(() => chatOf(world).includes(OK), { what: 'the answer' });
    expect((await world.assistant.call('info', {})).warnings.filter((warning) => warning.includes('hook'))).toEqual([]);
  },
  turnEnd: async (run) => {
    await says(run, OK);
    await waitFor(async () => (await run.log()) === 'answered 15\n', { what: 'the line of the turn' });
  },
};

describe('an example of docs/hooks.md', () => {
  test('is there for every stage', () => {
    const stages = {
      session: true,
      admit: true,
      loadState: true,
      prompt: true,
      model: true,
      beforeModel: true,
      runModel: true,
      beforeTool: true,
      afterTool: true,
      render: true,
      onError: true,
      dispatch: true,
      saveState: true,
      turnEnd: true,
    } satisfies Record<keyof Hooks, true>;
    expect([...EXAMPLES.keys()].flatMap((names) => names.split(' ')).toSorted()).toEqual(
      Object.keys(stages).toSorted(),
    );
    expect([...EXAMPLES.keys()]).toEqual(Object.keys(SHOWS));
  });

  test.each([...EXAMPLES])('does what it says: %s', async (names, code) => {
    await using world = await startWorld({
      config: { plugins: ['example'] },
      furnish: async (home) => {
        const folder = join(home, 'plugins', 'example');
        await mkdir(folder, { recursive: true });
        const facts = { name: 'example', type: 'module', assistant: { plugin: './index.js' } };
        await writeFile(join(folder, 'package.json'), JSON.stringify(facts));
        await writeFile(join(folder, 'index.js'), code);
      },
    });
    const log = (): Promise<string> => readFile(join(world.home, 'example.log'), 'utf8').catch(() => '');
    expect((await world.assistant.call('info', {})).warnings).not.toContainEqual(expect.stringContaining('The plugin'));
    await SHOWS[names]?.({ world, log });
    expect(await world.assistant.call('pluginsList', {})).toMatchObject([{ state: 'running' }]);
  });
});
