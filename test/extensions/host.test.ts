import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAssistant, defineTool, z } from '../../src/app.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { readPlugin } from '../../src/core/plugins/shape.ts';
import { showsInGroup, type ToolContext } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { failureOf } from '../config/temporary-home.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';

/** Puts a package into a home and lists it, as a person does who edits the configuration. */
async function putPackage(home: string, name: string, source: string): Promise<void> {
  const folder = join(home, 'plugins', name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name, version: '1.0.0', type: 'module', assistant: { plugin: './index.js' } }),
  );
  await writeFile(join(folder, 'index.js'), source);
  const path = join(home, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8').catch(() => '{}')) as { readonly plugins?: readonly string[] };
  await writeFile(path, JSON.stringify({ ...config, plugins: [...(config.plugins ?? []), name] }));
}

const warningsOf = async (world: World): Promise<string> =>
  (await world.assistant.call('info', {})).warnings.join('\n');

describe('the name of an extension', () => {
  const sing = `tools: [{ name: 'sing', description: 'Sings.', effect: 'none', parameters: z.object({}), execute: async () => ({ title: 's', output: 's' }) }]`;

  test('is not taken by a package', async () => {
    await using world = await startWorld({
      furnish: (home) =>
        putPackage(home, 'cron', `import { z } from 'assistantd'; export default { name: 'cron', ${sing} };`),
    });
    expect(await warningsOf(world)).toContain(
      'The plugin "cron" does not run: a part of the assistant itself has this name.',
    );
    await world.assistant.call('configReload', {});
    expect(await world.assistant.call('pluginsList', {})).toMatchObject([{ name: 'cron', state: 'failed' }]);
    const tools = (await world.assistant.call('toolsList', {})).map(({ name }) => name);
    expect(tools).toContain('cron');
    expect(tools).not.toContain('sing');
  });

  test('costs a plugin of the program none of its tools', async () => {
    await using folder = await tempFolder();
    const home = join(folder.path, 'home');
    await mkdir(home, { mode: 0o700 });
    await writeFile(join(home, 'config.json'), '{}', { mode: 0o600 });
    const tool = defineTool({
      name: 'sing',
      description: 'Sings.',
      effect: 'none',
      parameters: z.object({}),
      execute: async () => ({ title: 's', output: 's' }),
    });
    await using assistant = await createAssistant({
      home,
      environment: { HOME: folder.path },
      plugins: [{ name: 'cron', tools: [tool] }],
      log: silentLog,
    });
    await putPackage(home, 'other', "export default { name: 'other' };");
    await assistant.call('configReload', {});
    expect((await assistant.call('toolsList', {})).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['cron', 'sing']),
    );
  });
});

test('a gateway of many homes knows the operations of extensions, and says that a home has to be named', async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, 'machine');
  await mkdir(home, { mode: 0o700 });
  const config = { store: 'postgres://nobody:pass@127.0.0.1:1/none', homes: { enabled: true } };
  await writeFile(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const ending = new AbortController();
  const starting = createAssistant({
    home,
    environment: { HOME: folder.path },
    serve: 'gateway',
    port: 0,
    log: silentLog,
    signal: ending.signal,
  });
  starting.catch(() => {});
  try {
    let found: Awaited<ReturnType<typeof connectAssistant>>;
    await waitFor(async () => (found = await connectAssistant(homePaths(home).socket, systemClock)) !== undefined);
    await using assistant = found;
    const failure = await failureOf(assistant?.call('cron', { action: 'list' }) ?? Promise.resolve());
    expect(failure.code).toBe('name-a-home');
  } finally {
    ending.abort(new Error('over'));
    await starting.catch(() => {});
  }
});

test('a package that hangs or throws when it starts, forgets and stops holds nothing up, and the health says what failed', async () => {
  const log = recordingLog();
  await using world = await startWorld({
    log,
    furnish: async (home) => {
      await putPackage(home, 'first', "export default { name: 'f', start: () => { throw new Error('no start'); } };");
      await putPackage(
        home,
        'second',
        `let started = false;
         export default {
           name: 's',
           commands: [{ name: 'started', description: 'x', run: () => String(started) }],
           start: () => void (started = true),
           forget: () => new Promise(() => {}),
           stop: () => { throw new Error('no stop'); },
         };`,
      );
    },
  });
  await waitFor(async () => (await world.assistant.run('/started')).text === 'true');
  expect((await world.assistant.run('/new')).text).toContain('conversation');
  const { warnings } = await world.assistant.call('health', {});
  expect(warnings).toEqual(
    expect.arrayContaining([
      'The extension first could not start: no start.',
      'The extension second could not forget a conversation: it took longer than 5000 ms.',
    ]),
  );
  await world.assistant[Symbol.asyncDispose]();
  expect(log.lines).toContainEqual({
    level: 'error',
    message: 'extensions: failed',
    fields: { name: 'second', to: 'stop', reason: 'no stop' },
  });
});

describe('what a package may have', () => {
  test('are routes with parts and with their own refusal', async () => {
    await using world = await startWorld({
      furnish: (home) =>
        putPackage(
          home,
          'things',
          `export default {
             name: 't',
             routes: [{
               method: 'GET',
               path: '/of/:who/list',
               allows: (request, part) => request.headers.get('x-key') === part('who'),
               refusal: { code: 'not-yours', message: 'These are not your things.' },
               handle: (request, part) => Response.json({ of: part('who') }),
             }],
           };`,
        ),
    });
    const { http } = await world.assistant.call('info', {});
    const get = (key: string): Promise<Response> =>
      fetch(`${http}/plugins/things/of/ann/list`, { headers: { 'x-key': key } });
    expect(await (await get('ann')).json()).toEqual({ of: 'ann' });
    const refused = await get('bob');
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { error: { code: 'not-yours', message: 'These are not your things.' } },
    ]);
  });

  test.each([
    ['origins', '[{ name: "mail" }]', 'a list'],
    ['paths', '{ folders: ["mail"] }', 'an object'],
  ])('is not %s', async (field, value, given) => {
    await using world = await startWorld({
      furnish: (home) => putPackage(home, 'greedy', `export default { name: 'g', ${field}: ${value} };`),
    });
    expect(await warningsOf(world)).toContain(
      `The plugin "greedy" does not run: ${field} must be left out, because it isn't for packages, but ${given} was given.`,
    );
  });

  test('are the flags of tools, and what is said of a call', async () => {
    const tool = {
      name: 'sing',
      description: 'Sings.',
      effect: 'effect',
      parameters: z.object({}),
      fits: 'small',
      withheldFrom: ['subagent', 'visit'],
      onlyReads: true,
      source: 'a song',
      looks: /"action":"look"/gu,
      plan: () => ({
        run: async () => ({ title: 's', output: 's' }),
        reaches: showsInGroup('a song'),
        about: [{ kind: 'file', target: 'a.mp3' }],
        echoes: false,
      }),
    };
    const { tools } = readPlugin({ name: 's', tools: [tool] }, { owner: 'songs', showParameters: () => ({}) });
    const read = tools?.[0];
    expect(read).toMatchObject({
      fits: 'small',
      withheldFrom: ['subagent', 'visit'],
      onlyReads: true,
      source: 'a song',
    });
    expect([1, 2].map(() => read?.looks?.test('{"action":"look"}'))).toEqual([true, true]);
    const context = {} as ToolContext;
    expect(await read?.plan({}, context)).toEqual({
      run: expect.any(Function),
      reaches: showsInGroup('a song'),
      about: [{ kind: 'file', target: 'a.mp3' }],
      echoes: false,
    });
  });
});
