import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FIXTURE_SERVER } from '../mcp/built-fixture.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import { recordingLog } from '../support/recording-log.ts';
import { edit, taken, wrongly, type Settings } from '../support/reload-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function say(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `a reply to ${text}` });
  return chatOf(world).at(-1) ?? '';
}

const lastBody = (world: World): Record<string, unknown> => ({ ...(world.model.requests.at(-1)?.body as object) });

/** That are wrong; the long test makes more of them. */
const EDITS = 8;

describe('a setting that is live', () => {
  test('counts from the next message on, without a restart of anything', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'Hello.');
    await say(world, 'hi');
    const polls = world.telegram.calls.filter(({ method }) => method === 'getMe').length;
    expect(lastBody(world)['temperature']).toBeUndefined();
    expect(world.model.requests.at(-1)?.view.tools).toContain('web_fetch');
    const changes = await taken(world, (settings) => {
      settings['agent'] = { ...settings['agent'], temperature: 0.3, maxOutputTokens: 777, model: 'openai/other-model' };
      settings['tools'] = { deny: ['web_*'] };
    });
    expect(changes.toSorted()).toEqual([
      'agent.maxOutputTokens: live',
      'agent.model: live',
      'agent.temperature: live',
      'tools.deny: live',
    ]);
    await say(world, 'and now?');
    expect(lastBody(world)).toMatchObject({ temperature: 0.3, model: 'other-model' });
    expect(JSON.stringify(lastBody(world))).toContain('777');
    expect(world.model.requests.at(-1)?.view.tools).not.toContain('web_fetch');
    expect((await world.assistant.call('info', {})).model).toBe('openai/other-model');
    expect(world.telegram.calls.filter(({ method }) => method === 'getMe')).toHaveLength(polls);
  });

  test('is seen when an editor saves the file, and when a program writes into it', async () => {
    const log = recordingLog();
    await using world = await startWorld({ log });
    world.model.setHandler(() => 'Hello.');
    const applied = (): number => log.lines.filter(({ message }) => message === 'config: change applied').length;
    await edit(world.home, (settings) => (settings['agent'] = { ...settings['agent'], temperature: 0.1 }));
    await waitFor(() => applied() === 1, { what: 'the change of the editor' });
    const path = join(world.home, 'config.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('0.1', '0.2'));
    await waitFor(() => applied() === 2, { what: 'the change in place' });
    await say(world, 'hi');
    expect(lastBody(world)['temperature']).toBe(0.2);
    expect(log.lines.find(({ message }) => message === 'config: change applied')?.fields).toEqual({
      live: ['agent.temperature'],
      startedAnew: [],
      waitsForRestart: [],
    });
  });

  test('counts from the next turn on: one turn has one configuration, but rights count at once', async () => {
    await using world = await startWorld();
    world.model.setHandler(async ({ view }) => {
      if (!view.lastUserText.includes('work') || view.toolResults.length > 1) return 'Done.';
      const call = { name: 'list_dir', arguments: { path: '.' } };
      if (lastBody(world)['temperature'] !== undefined || world.model.requests.length > 1) return 'Done.';
      await edit(world.home, (settings) => {
        settings['agent'] = { ...settings['agent'], temperature: 0.4, maxIterations: 1 };
        settings['tools'] = { deny: ['list_dir'] };
      });
      await world.assistant.reload();
      return { calls: [call] };
    });
    await say(world, 'work');
    const bodies = world.model.requests.map(({ body }) => body['temperature']);
    expect(bodies).toEqual([undefined, undefined]);
    expect(world.model.requests[1]?.view.toolResults[0]?.text).toContain('list_dir is switched off');
    await say(world, 'and now?');
    expect(lastBody(world)['temperature']).toBe(0.4);
  });

  test('stays what a variable or a flag says', async () => {
    await using world = await startWorld({ config: { agent: { temperature: 0.5 } } });
    world.model.setHandler(() => 'Hello.');
    expect(await taken(world, (settings) => (settings['agent'] = { ...settings['agent'], temperature: 1 }))).toEqual(
      [],
    );
    await say(world, 'hi');
    expect(lastBody(world)['temperature']).toBe(0.5);
  });
});

test('a refused key that is corrected in the file needs no restart before /retry', async () => {
  await using world = await startWorld();
  await taken(world, (settings) => {
    const { openai } = settings['providers'] ?? {};
    settings['providers'] = { openai: { ...(openai as object), apiKey: 'sk-a-key-that-is-wrong-01' } };
  });
  world.model.setHandler(({ headers }) =>
    headers.authorization === `Bearer ${MODEL_KEY}`
      ? 'Here I am.'
      : { error: { status: 401, message: 'Incorrect API key' } },
  );
  expect(await say(world, 'are you there?')).toBe(
    'openai refused the API key. Correct providers.openai.apiKey, then send /retry.',
  );
  const changes = await taken(world, (settings) => {
    const { openai } = settings['providers'] ?? {};
    settings['providers'] = { openai: { ...(openai as object), apiKey: MODEL_KEY } };
  });
  expect(changes).toEqual(['providers.openai: rebuild']);
  expect(await say(world, '/retry')).toBe('Here I am.');
});

test('an MCP server is started, replaced and stopped alone', async () => {
  await using world = await startWorld();
  const names = async (): Promise<readonly string[]> =>
    (await world.assistant.call('toolsList', {})).map(({ name }) => name);
  const server = { command: process.execPath, args: [FIXTURE_SERVER] };
  const state = async (name: string): Promise<string | undefined> =>
    (await world.assistant.call('mcpList', {})).find((one) => one.name === name)?.state;
  expect(await taken(world, (settings) => (settings['mcpServers'] = { one: server }))).toEqual([
    'mcpServers.one: rebuild',
  ]);
  await waitFor(async () => (await names()).includes('mcp_one_echo'), { what: 'the tools of one' });
  await taken(world, (settings) => (settings['mcpServers'] = { one: server, two: server }));
  await waitFor(async () => (await names()).includes('mcp_two_echo'), { what: 'the tools of two' });
  expect(await state('one')).toBe('running');
  const changes = await taken(world, (settings) => {
    settings['mcpServers'] = { one: server, two: { ...server, tools: ['e*'], env: { A: 'b' } } };
  });
  expect(changes).toEqual(['mcpServers.two: rebuild']);
  expect(await state('one')).toBe('running');
  expect(
    (await names()).filter((name) => name.startsWith('mcp_two_')).every((name) => name.startsWith('mcp_two_e')),
  ).toBe(true);
  await taken(world, (settings) => (settings['mcpServers'] = { one: server }));
  expect((await names()).some((name) => name.startsWith('mcp_two_'))).toBe(false);
  expect(await names()).toContain('mcp_one_echo');
});

test('a setting that needs a restart keeps its value until then, and the status says so', async () => {
  await using world = await startWorld();
  const change = (value: unknown) => (settings: Settings) => (settings['tools'] = { exec: value } as Settings[string]);
  expect(await taken(world, change({ mode: 'off' }))).toEqual(['tools.exec.mode: restart']);
  const warning = 'Changed, and in force after a restart (/restart): tools.exec.mode.';
  expect((await world.assistant.call('info', {})).warnings).toContain(warning);
  world.model.setHandler(() => 'Hello.');
  expect(await say(world, '/status')).toContain('Changed, and in force after a restart');
  expect(await taken(world, change({}))).toEqual(['tools.exec.mode: restart']);
  expect((await world.assistant.call('info', {})).warnings).not.toContain(warning);
});

test('edits that are wrong change nothing, and the owner is told of each once, with line and column', async () => {
  const log = recordingLog();
  await using world = await startWorld({ log });
  world.model.setHandler(() => 'Hello.');
  await say(world, 'hi');
  const path = join(world.home, 'config.json');
  const good = await readFile(path, 'utf8');
  const wrong = Array.from({ length: EDITS }, (_, n) => wrongly(good, n));
  const said = (): readonly string[] =>
    chatOf(world).filter((text) => text.includes('I did not apply the changed configuration'));
  for (const [n, text] of wrong.entries()) {
    await writeFile(path, text);
    expect((await world.assistant.reload()).refused).not.toBeNull();
    await waitFor(() => said().length === n + 1, { what: `the notice of edit ${n}` });
  }
  expect((await world.assistant.reload()).refused).not.toBeNull();
  expect(said()[1]).toMatch(/config\.json:2:18: log\.level must be one of .*, but "1" was given\./u);
  expect(said()[3]).toContain('names a provider that is not known: "nobody3"');
  expect(await say(world, 'still there?')).toBe('Hello.');
  expect(lastBody(world)['model']).toBe('scripted-model');
  await writeFile(path, good);
  expect(await world.assistant.reload()).toEqual({ changes: [], refused: null });
  expect(said()).toHaveLength(EDITS);
  expect(log.lines.filter(({ message }) => message.startsWith('config: change refused'))).toHaveLength(EDITS);
});

test('a file that is empty or gone for a moment stops nothing', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'Hello.');
  const path = join(world.home, 'config.json');
  await rename(path, `${path}.away`);
  expect((await world.assistant.reload()).refused).toContain('config.json is empty or gone.');
  await writeFile(path, '// nothing yet');
  expect((await world.assistant.reload()).refused).toContain('config.json is empty or gone.');
  await rename(`${path}.away`, path);
  expect(await world.assistant.reload()).toEqual({ changes: [], refused: null });
  expect(await say(world, 'hi')).toBe('Hello.');
});

test('a secret that was replaced stays out of every text, and so does the new one', async () => {
  await using world = await startWorld();
  const [old, next] = ['gsk-secret-of-yesterday-11', 'gsk-secret-of-today-222222'];
  for (const apiKey of [old, next]) {
    await taken(world, (settings) => (settings['providers'] = { ...settings['providers'], groq: { apiKey } }));
  }
  world.model.setHandler(() => `They are ${old} and ${next}.`);
  expect(await say(world, 'which keys do you know?')).toBe('They are [redacted] and [redacted].');
});

test('/restart is refused while the channel of the owner who asks would stay off', async () => {
  const restarts: boolean[] = [];
  // What a variable or a flag says is not watched, so only /restart sees that it was changed.
  const config = { channels: { telegram: { enabled: true } } };
  await using world = await startWorld({ config, onRestart: () => restarts.push(true) });
  await world.assistant.reload();
  config.channels.telegram.enabled = false;
  expect(await say(world, '/restart')).toBe(
    `I did not restart: with the configuration as it is now channels.telegram would stay off, and you could not reach me here. Correct it in ${join(world.home, 'config.json')}, and send /restart again.`,
  );
  config.channels.telegram.enabled = true;
  expect(restarts).toEqual([]);
  expect(await say(world, '/restart')).toContain('Restarting.');
  await waitFor(() => restarts.length === 1, { what: 'the restart' });
});

test.each(['owners', 'allowFrom'])('/restart is refused while %s would no longer name who asks', async (key) => {
  const restarts: boolean[] = [];
  // The file of a reference is not watched, so only /restart sees that it was changed.
  const owner = (home: string): string => join(home, 'owner');
  await using world = await startWorld({
    onRestart: () => restarts.push(true),
    furnish: async (home) => {
      await writeFile(owner(home), String(OWNER));
      await edit(home, (settings) => {
        const { telegram } = settings['channels'] ?? {};
        settings['channels'] = { telegram: { ...(telegram as object), [key]: [{ file: 'owner' }] } };
      });
    },
  });
  await world.assistant.reload();
  await writeFile(owner(world.home), '7');
  expect(await say(world, '/restart')).toBe(
    `I did not restart: with the configuration as it is now you would no longer be an owner here. Put 42 into channels.telegram.owners in ${join(world.home, 'config.json')}, and send /restart again.`,
  );
  await writeFile(owner(world.home), '');
  expect(await say(world, '/restart')).toContain(`channels.telegram.${key}.0 is to be read from`);
  await writeFile(owner(world.home), String(OWNER));
  expect(restarts).toEqual([]);
  expect(await say(world, '/restart')).toContain('Restarting.');
  await waitFor(() => restarts.length === 1, { what: 'the restart' });
});
