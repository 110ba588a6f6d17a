import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { startWorld, type World } from '../support/world.ts';

const ZOD = import.meta.resolve('zod');

async function install(home: string, name: string, code: string): Promise<void> {
  const folder = join(home, 'plugins', name);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name, type: 'module', assistant: { plugin: './index.js' } }),
  );
  await writeFile(join(folder, 'index.js'), `import * as z from ${JSON.stringify(ZOD)};\n${code}`);
}

/** A world that runs these plugins, by name. */
async function worldWith(plugins: Readonly<Record<string, string>>): Promise<World> {
  const world = await startWorld({ config: { plugins: Object.keys(plugins) } });
  for (const [name, code] of Object.entries(plugins)) await install(world.home, name, code);
  await world.restart();
  return world;
}

const plugin = (fields: string): string => `export default { name: 'p', ${fields} };`;
const tool = (fields: string): string => plugin(`tools: [{ ${fields} }]`);
const FINE = `description: 'says hello', parameters: z.object({}), effect: 'none', execute: async () => ({ title: 't', output: 'hello', metadata: {} })`;

describe('a plugin of a wrong shape', () => {
  const wrong: Readonly<Record<string, readonly [code: string, sentence: string]>> = {
    'is a function': ['export default () => {};', 'its default export must be an object, but a function was given'],
    'exports nothing': ['export const name = 1;', 'its default export must be an object, but it is missing'],
    'throws when it is loaded': ["throw new Error('no paper.');", 'no paper'],
    'throws no error when it is loaded': ['throw { no: 1 };', 'it threw something that is not an error'],
    'has a getter that throws': [
      "export default { name: 'p', get tools() { throw new Error('not today'); } };",
      'its default export.tools cannot be read: not today',
    ],
    'has no list of tools': [plugin('tools: {}'), 'tools must be a list, but an object was given'],
    'has a tool that is a text': [plugin("tools: ['x']"), 'tools[0] must be an object, but "x" was given'],
    'has a tool with a JSON Schema': [
      tool(`name: 'a_b', ${FINE.replace('z.object({})', "{ type: 'object', properties: {} }")}`),
      'tools[0] (a_b).parameters must be a zod object such as z.object({ city: z.string() }), not a JSON Schema, but an object was given',
    ],
    'has a tool with another zod schema': [
      tool(`name: 'a_b', ${FINE.replace('z.object({})', 'z.string()')}`),
      'tools[0] (a_b).parameters must be a zod object such as',
    ],
    'has a tool with a field that has no JSON Schema': [
      tool(`name: 'a_b', ${FINE.replace('z.object({})', 'z.object({ when: z.date() })')}`),
      'tools[0] (a_b).parameters cannot be shown to a model: Date cannot be represented in JSON Schema',
    ],
    'has a tool without parameters': [
      tool(`name: 'a_b', ${FINE.replace('parameters', 'params')}`),
      'tools[0] (a_b).parameters must be a zod object',
    ],
    'has a tool without execute': [
      tool(`name: 'a_b', ${FINE.replace('execute', 'run')}`),
      'tools[0] (a_b).execute must be a function, but it is missing',
    ],
    'has a tool with a name that no model takes': [
      tool(`name: 'say hello', ${FINE}`),
      'tools[0] (say hello).name must be a name of at most 64 letters',
    ],
    'has a tool with an unknown effect': [
      tool(`name: 'a_b', ${FINE.replace("'none'", "'some'")}`),
      'tools[0] (a_b).effect must be one of "none", "idempotent", "effect", but "some" was given',
    ],
    'has a tool with a getter that throws': [
      tool(`name: 'a_b', get description() { throw new Error('no words'); }, parameters: z.object({}), effect: 'none'`),
      'tools[0].description cannot be read: no words',
    ],
    'has a hook that is no function': [
      plugin('hooks: { beforeTool: true }'),
      'hooks.beforeTool must be a function, but true was given',
    ],
    'has a hook that is misspelt': [
      plugin('hooks: { befortool: () => {} }'),
      'hooks.befortool is not a hook: did you mean beforeTool?',
    ],
    'has a channel that cannot be opened': [
      plugin("channels: [{ kind: 'x', shows: '' }]"),
      'channels[0].open must be a function, but it is missing',
    ],
    'has a channel that init cannot set up': [
      plugin("channels: [{ kind: 'x', shows: '', open: () => {}, setup: { where: 'on X' } }]"),
      'channels[0].setup.tokens must be an object, but it is missing',
    ],
    'has a command without a line for help': [
      plugin("commands: [{ name: 'dice', run: () => 'six' }]"),
      'commands[0] (dice).description must be a text, but it is missing',
    ],
    'has a command with a slash in its name': [
      plugin("commands: [{ name: '/dice', description: 'rolls', run: () => 'six' }]"),
      'commands[0] (/dice).name must be a name of at most 32 small letters',
    ],
    'has a command for a role that there is not': [
      plugin("commands: [{ name: 'dice', description: 'rolls', role: 'admin', run: () => 'six' }]"),
      'commands[0] (dice).role must be one of "owner", "trusted", "guest", but "admin" was given',
    ],
    'has a provider without open': [
      plugin("providers: [{ kind: 'echo', chat: () => {} }]"),
      'providers[0].open must be a function, but it is missing',
    ],
    'has a provider without a kind': [
      plugin('providers: [{ open: () => {} }]'),
      'providers[0].kind must be a text, but it is missing',
    ],
    'has a route without a slash': [
      plugin("routes: [{ method: 'GET', path: 'status', handle: () => new Response() }]"),
      'routes[0].path must be a path that begins with a slash',
    ],
    'has a route with an odd method': [
      plugin("routes: [{ method: 'get', path: '/status', handle: () => new Response() }]"),
      'routes[0].method must be one of "GET", "POST", "PUT", "DELETE", but "get" was given',
    ],
    'has a route twice': [
      plugin(`routes: [${"{ method: 'GET', path: '/a', handle: () => new Response() },".repeat(2)}]`),
      'routes: two of them have the path "GET /a"',
    ],
    'has skills that are not there': [plugin("skills: './skills'"), 'skills: ./skills is not a folder of the package'],
    'has skills outside of its package': [plugin("skills: '..'"), 'skills: .. lies outside the package'],
    'is a guard by a word': [plugin("guard: 'yes'"), 'guard must be true or false'],
    'has a tool that decides outside of its plan': [
      plugin(`tools: [{ name: 'a_b', ${FINE}, decide: () => ({ decision: 'ask' }) }]`),
      'tools[0] (a_b).decide must be left out: what plan() returns says who is asked',
    ],
    'has two tools of one name': [
      plugin(`tools: [{ name: 'a_b', ${FINE} }, { name: 'a_b', ${FINE} }]`),
      'tools: two of them have the name "a_b"',
    ],
  };

  test('is refused with a sentence that names plugin and field, and everything else runs', async () => {
    const named = Object.fromEntries(Object.entries(wrong).map(([what, [code]]) => [what.replaceAll(' ', '-'), code]));
    await using world = await worldWith({ ...named, fine: tool(`name: 'say_hello', ${FINE}`) });
    const { warnings } = await world.assistant.call('info', {});
    for (const [what, [, sentence]] of Object.entries(wrong)) {
      const start = `The plugin "${what.replaceAll(' ', '-')}" does not run: ${sentence}`;
      expect(
        warnings.filter((warning) => warning.startsWith(start)),
        what,
      ).toHaveLength(1);
    }
    world.model.reply({ calls: [{ name: 'say_hello', arguments: {} }] }, 'It said hello.');
    expect(await world.assistant.run('say hello')).toMatchObject({ outcome: 'answered', text: 'It said hello.' });
  });

  test('with a tool that another plugin has already leaves the first one as it is', async () => {
    const second = tool(`name: 'say_hello', ${FINE.replace("'hello'", "'bye'")}`);
    await using world = await worldWith({ first: tool(`name: 'say_hello', ${FINE}`), second });
    world.model.reply({ calls: [{ name: 'say_hello', arguments: {} }] }, 'done');
    await world.assistant.run('say hello');
    expect(world.model.requests.at(-1)?.view.toolResults.at(-1)?.text).toContain('hello');
  });
});

describe('a tool of a plugin that answers something wrong', () => {
  const answers: Readonly<Record<string, readonly [code: string, sentence: string]>> = {
    nothing: ['undefined', 'result must be an object, but null was given'],
    text: ["'sunny'", 'result must be an object, but "sunny" was given'],
    list: ['[1]', 'result must be an object, but a list was given'],
    no_output: ["{ title: 't', metadata: {} }", 'result.output must be a text, but it is missing'],
    odd_metadata: [
      "{ title: 't', output: 'o', metadata: { a: { b: 1 } } }",
      'result.metadata.a must be a text, a number, true, false or null, but an object was given',
    ],
    odd_output: ["{ title: 't', output: 5, metadata: {} }", 'result.output must be a text, but 5 was given'],
    getter: [
      "{ title: 't', get output() { throw new Error('no words'); }, metadata: {} }",
      'result cannot be read: no words',
    ],
  };

  test('gives an error that names plugin, tool and field, and the turn goes on', async () => {
    const tools = Object.entries(answers).map(
      ([name, [answer]]) => `{ name: 'say_${name}', ${FINE.replace(/async \(\) => .*$/u, `() => (${answer})`)} }`,
    );
    const plans = `{ name: 'say_plan', ${FINE}, plan: () => ({ run: 5 }) }`;
    await using world = await worldWith({ odd: plugin(`tools: [${[...tools, plans].join(', ')}]`) });
    const results = async (name: string): Promise<string> => {
      world.model.reply({ calls: [{ name, arguments: {} }] }, 'I saw it.');
      expect(await world.assistant.run(`call ${name}`), name).toMatchObject({ outcome: 'answered' });
      return world.model.requests.at(-1)?.view.toolResults.at(-1)?.text ?? '';
    };
    for (const [name, [, sentence]] of Object.entries(answers)) {
      const told = await results(`say_${name}`);
      expect(told).toContain(`The plugin "odd" is broken. Its tool say_${name}: ${sentence}.`);
      expect(told).toContain(`say_${name} ran, but its result can’t be read.`);
      expect(told).not.toContain('[error]');
    }
    expect(await results('say_plan')).toContain('Its tool say_plan: plan.run must be a function, but 5 was given');
  });
});

test('a tool of a plugin needs no metadata in its result', async () => {
  const says = `{ name: 'say_plain', ${FINE.replace(/async \(\) => .*$/u, "() => ({ title: 't', output: 'plain' })")} }`;
  await using world = await worldWith({ plain: plugin(`tools: [${says}]`) });
  world.model.reply({ calls: [{ name: 'say_plain', arguments: {} }] }, 'I saw it.');
  await world.assistant.run('call it');
  expect(world.model.requests.at(-1)?.view.toolResults.at(-1)?.text).toBe('[t]\nplain');
});

describe('a tool of a plugin', () => {
  test('is told of its call, the person, the folder and the conversation, in the groups that docs/plugins.md names', async () => {
    const told = `({ signal, call, person, files, conversation, limits, people, approval, runPart }) => {
      people.progress('looking');
      return { aborted: signal.aborted, call, person, workspace: files.workingDirectory, roots: files.readRoots.length > 0,
        taint: conversation.taint, said: conversation.said().length, free: typeof conversation.takeFreeChoice,
        skills: limits.skills.names, withheld: limits.withheld('say_context'), approval, part: typeof runPart };
    }`;
    const says = `{ name: 'say_context', ${FINE.replace(
      /async \(\) => .*$/u,
      `async (_, context) => ({ title: 't', output: JSON.stringify((${told})(context)), metadata: {} })`,
    )} }`;
    await using world = await worldWith({ told: plugin(`tools: [${says}]`) });
    world.model.reply({ calls: [{ name: 'say_context', arguments: {} }] }, 'I saw it.');
    await world.assistant.run('call it', { session: 'main' });
    const [, json = ''] = /(\{.*\})/su.exec(world.model.requests.at(-1)?.view.toolResults.at(-1)?.text ?? '') ?? [];
    expect(JSON.parse(json)).toEqual({
      aborted: false,
      call: {
        id: expect.stringMatching(/\.1$/u),
        turnId: expect.any(String),
        sessionKey: 'terminal:main',
        messageId: expect.any(String),
      },
      person: {
        role: 'owner',
        origin: 'user',
        who: expect.stringMatching(/^terminal:/u),
        chatType: 'direct',
        chat: { channel: 'terminal', chatId: 'main' },
      },
      workspace: join(world.home, 'workspace'),
      roots: true,
      taint: { untrusted: false, private: true },
      said: expect.any(Number),
      free: 'function',
      skills: ['memory'],
      withheld: null,
      approval: null,
      part: 'function',
    });
  });
});

describe('a hook that answers something wrong', () => {
  const stages: Readonly<Record<string, readonly [answer: string, sentence: string]>> = {
    session: ['5', 'its answer must be a text, but 5 was given'],
    admit: ["{ type: 'replace', value: { text: 'hi' } }", 'its answer.value.id must be a text, but it is missing'],
    loadState: ["'state'", 'its answer must be an object, but "state" was given'],
    prompt: ["'be kind'", 'its answer must be a list, but "be kind" was given'],
    model: ['{}', 'its answer must be a text, but an object was given'],
    beforeModel: [
      "{ type: 'replace', value: { model: 'x' } }",
      'its answer.value.system must be a list, but it is missing',
    ],
    beforeTool: ["{ type: 'replace' }", 'its answer.value must be an object, but it is missing'],
    afterTool: ["{ type: 'replace', value: 'x' }", 'its answer.value must be an object, but "x" was given'],
    render: ["{ type: 'replace', value: 5 }", 'its answer.value must be a text, but 5 was given'],
    dispatch: ["{ type: 'replace', value: { text: 'x' } }", 'its answer.value.id must be a text, but it is missing'],
  };

  test('is left out at each stage, the status says which, and the message is answered', async () => {
    const hooks = (answers: Readonly<Record<string, readonly [string, string]>>): string =>
      plugin(
        `hooks: { ${Object.entries(answers)
          .map(([name, [answer]]) => `${name}: () => (${answer})`)
          .join(', ')} }`,
      );
    await using world = await worldWith({ odd: hooks(stages) });
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }] }, 'It is empty.');
    expect(await world.assistant.run('look')).toMatchObject({ outcome: 'answered', text: 'It is empty.' });
    const { warnings } = await world.assistant.call('info', {});
    for (const [stage, [, sentence]] of Object.entries(stages)) {
      expect(warnings, stage).toContain(`The hook ${stage} of the plugin "odd" failed and was skipped: ${sentence}.`);
    }
    expect((await world.assistant.run('/status')).text).toContain('The hook render of the plugin "odd" failed');
  });

  test('in place of the sentence about a failure leaves that sentence', async () => {
    await using world = await worldWith({ odd: plugin('hooks: { onError: () => 5 }') });
    world.model.reply({ error: { status: 401, message: 'no' } });
    const { outcome, text } = await world.assistant.run('hi');
    expect(outcome).toBe('failed');
    expect(text).toContain('refused the API key');
    expect((await world.assistant.call('info', {})).warnings).toContain(
      'The hook onError of the plugin "odd" failed and was skipped: its answer must be a text, but 5 was given.',
    );
  });

  test('or that fails around the call of a model is left out, and the model is asked without it', async () => {
    const hooks = "hooks: { async *runModel() { throw new Error('no wires'); } }";
    await using world = await worldWith({ odd: plugin(hooks) });
    world.model.reply('fine');
    expect(await world.assistant.run('hi')).toMatchObject({ outcome: 'answered', text: 'fine' });
    expect((await world.assistant.call('info', {})).warnings).toContain(
      'The hook runModel of the plugin "odd" failed and was skipped: no wires.',
    );
  });

  test.each(['true', "'deny'", "{ type: 'Deny' }", "{ type: 'deny' }", 'null', '[]'])(
    'such as %s from a hook that decides is not taken for a decision',
    async (answer) => {
      await using world = await worldWith({ odd: plugin(`hooks: { beforeModel: () => (${answer}) }`) });
      world.model.reply('fine');
      expect(await world.assistant.run('hi')).toMatchObject({ outcome: 'answered', text: 'fine' });
      expect((await world.assistant.call('info', {})).warnings).toContainEqual(
        expect.stringMatching(/^The hook beforeModel of the plugin "odd" failed and was skipped: its answer/u),
      );
    },
  );
});

test('a turn that cannot be run at all is told to whoever waits for its answer', async () => {
  const clock = new SkippingClock();
  await using world = await startWorld({ clock });
  // Its tape cannot be opened.
  await mkdir(join(world.home, 'sessions', tapeName('terminal:main')), { recursive: true });
  const answer = world.assistant.run('hi');
  const skipping = setInterval(() => clock.skip(30_000), 50);
  expect(await answer.finally(() => clearInterval(skipping))).toMatchObject({
    outcome: 'failed',
    isError: true,
    text: expect.stringContaining('An error inside me kept me from answering'),
  });
});
