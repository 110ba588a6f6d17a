import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { methods, type ListSessionsRequest } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { begin, load, say, startEditorWorld, textOf } from './editor.ts';

const { agent } = methods;

describe.concurrent('the requests of an editor', () => {
  test('the list holds the conversations of a folder, page by page', async () => {
    await using world = await startEditorWorld();
    const editor = await world.editor();
    const request = async (params: ListSessionsRequest): Promise<{ ids: readonly string[]; nextCursor: unknown }> => {
      const { sessions, nextCursor } = await editor.connection.agent.request(agent.session.list, params);
      return { ids: sessions.map(({ sessionId }) => sessionId), nextCursor };
    };
    const here: string[] = [];
    for (const folder of [world.workspace, world.project, world.workspace]) {
      const sessionId = await begin(editor, folder);
      world.model.reply('Hello.');
      await say(editor, sessionId, 'hi');
      if (folder === world.workspace) here.unshift(sessionId);
    }
    expect((await request({})).ids).toHaveLength(3);
    expect(await request({ cwd: world.workspace })).toEqual({ ids: here, nextCursor: undefined });
    expect((await request({ cwd: join(world.home, 'elsewhere') })).ids).toEqual([]);
    await expect(request({ cwd: 'here' })).rejects.toMatchObject({ code: -32_602 });
  });

  test('a conversation is deleted with what is kept of it, and cannot be loaded any more', async () => {
    await using world = await startEditorWorld();
    const editor = await world.editor();
    const sessionId = await begin(editor, world.project);
    world.model.reply('Hello.');
    await say(editor, sessionId, 'hi');
    const kept = (): Promise<string> => readFile(join(world.home, 'editors.json'), 'utf8');
    expect(await kept()).toContain(sessionId);
    await editor.connection.agent.request(agent.session.delete, { sessionId });
    expect(await kept()).not.toContain(sessionId);
    expect((await editor.connection.agent.request(agent.session.list, {})).sessions).toEqual([]);
    await expect(load(editor, sessionId, world.project)).rejects.toMatchObject({ code: -32_002 });
    await expect(say(editor, sessionId, 'hi')).rejects.toMatchObject({ code: -32_002 });
    const empty = await begin(editor, world.project);
    await editor.connection.agent.request(agent.session.delete, { sessionId: empty });
    expect(await kept()).not.toContain(empty);
  });

  test('the editor is told how full the context window is', async () => {
    await using world = await startEditorWorld();
    const editor = await world.editor();
    world.model.reply('Hello.');
    await say(editor, await begin(editor, world.workspace), 'hi');
    const told = await waitFor(() => editor.updates.find(({ sessionUpdate }) => sessionUpdate === 'usage_update'));
    expect(told).toMatchObject({ used: expect.any(Number) as unknown, size: expect.any(Number) as unknown });
  });

  test('a prompt that the editor takes back ends as cancelled, also before the turn begins', async () => {
    await using world = await startEditorWorld();
    const editor = await world.editor({ choose: () => undefined });
    const ask = (sessionId: string, signal: AbortSignal): Promise<unknown> =>
      editor.connection.agent.request(
        agent.session.prompt,
        { sessionId, prompt: [{ type: 'text', text: 'tell me' }] },
        { cancellationSignal: signal },
      );
    const first = new AbortController();
    const asking = ask(await begin(editor, world.project), first.signal);
    await waitFor(() => editor.asked.length === 1, { what: 'the question about the folder' });
    first.abort();
    expect(await asking).toEqual({ stopReason: 'cancelled' });
    expect(world.model.requests).toEqual([]);
    world.model.reply({ text: 'A long answer. '.repeat(20), eventDelayMs: 100 });
    const second = new AbortController();
    const writing = ask(await begin(editor, world.workspace), second.signal);
    await waitFor(() => editor.said() !== '', { what: 'the beginning of the answer' });
    second.abort();
    expect(await writing).toEqual({ stopReason: 'cancelled' });
  });

  test('the model is chosen in the editor, and a choice by a command is told to it', async () => {
    await using world = await startEditorWorld({
      models: { 'openai/other-model': {} },
      agent: { model: 'openai/scripted-model' },
    });
    const editor = await world.editor();
    const { sessionId, configOptions } = await editor.connection.agent.request(agent.session.new, {
      cwd: world.workspace,
      mcpServers: [],
    });
    expect(configOptions).toMatchObject([
      {
        id: 'model',
        category: 'model',
        currentValue: 'openai/scripted-model',
        options: [{ value: 'openai/scripted-model' }, { value: 'openai/other-model' }],
      },
    ]);
    const choose = (value: string): Promise<unknown> =>
      editor.connection.agent.request(agent.session.setConfigOption, { sessionId, configId: 'model', value });
    expect(await choose('openai/other-model')).toMatchObject({
      configOptions: [{ currentValue: 'openai/other-model' }],
    });
    world.model.reply('Hello.');
    await say(editor, sessionId, 'hi');
    expect(world.model.requests.at(-1)?.body).toMatchObject({ model: 'other-model' });
    await expect(choose('openai/no-such')).rejects.toMatchObject({ code: -32_602 });
    await say(editor, sessionId, '/model default');
    const told = await waitFor(() =>
      editor.updates.find(({ sessionUpdate }) => sessionUpdate === 'config_option_update'),
    );
    expect(told).toMatchObject({ configOptions: [{ currentValue: 'openai/scripted-model' }] });
  });

  test('two prompts at once are both answered, and the folder is asked about once', async () => {
    await using world = await startEditorWorld();
    const answers: ((option: string) => void)[] = [];
    const editor = await world.editor({ choose: () => new Promise((resolve) => answers.push(resolve)) });
    world.model.reply({ text: 'Both. ', eventDelayMs: 20 }, 'And the second.');
    const sessionId = await begin(editor, world.project);
    const both = Promise.all([say(editor, sessionId, 'one'), say(editor, sessionId, 'two')]);
    (await waitFor(() => answers[0], { what: 'the question' }))('once');
    expect(await both).toEqual([{ stopReason: 'end_turn' }, { stopReason: 'end_turn' }]);
    expect(editor.asked).toHaveLength(1);
    const second = await world.editor();
    await load(second, sessionId, world.project);
    const users = textOf(second.updates, 'user_message_chunk');
    expect(users.match(/one/gu)).toHaveLength(1);
    expect(users.match(/two/gu)).toHaveLength(1);
  });

  test('cancels that come at any time stop what runs and nothing else', async () => {
    await using world = await startEditorWorld();
    const editor = await world.editor();
    const sessionId = await begin(editor, world.workspace);
    const cancel = (id = sessionId): Promise<void> =>
      editor.connection.agent.notify(agent.session.cancel, { sessionId: id });
    await cancel();
    await cancel('nobody');
    for (let round = 0; round < 5; round += 1) {
      world.model.reply({ text: 'An answer. '.repeat(10), eventDelayMs: 20 });
      const going = say(editor, sessionId, `round ${round}`);
      await Promise.all([cancel(), cancel()]);
      expect(await going).toEqual({ stopReason: 'cancelled' });
    }
    await waitFor(() => world.model.inFlight === 0, { what: 'the end of all requests' });
    const left = world.model.pending;
    world.model.reply('Still here.');
    await say(editor, sessionId, 'are you there?');
    // A request that was cancelled while it was on its way may still take its answer, so there can be fewer than were left.
    const isThere = (): boolean => editor.said().endsWith('Still here.');
    for (let more = 0; more < left && !isThere(); more += 1) await say(editor, sessionId, 'and now?');
    expect(isThere()).toBe(true);
  });
});
