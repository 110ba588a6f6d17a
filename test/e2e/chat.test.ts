import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MODEL_KEY } from '../support/canaries.ts';
import { runCommand } from '../support/command-run.ts';
import { expectWithin, waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const said = (world: Parameters<typeof chatOf>[0], count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });

describe('the chat', () => {
  test('strangers get no answer, only a code for the owner, and their text never reaches the model', async () => {
    await using world = await startWorld();
    world.model.reply('hi owner');
    world.telegram.userSays(999, 'let me in');
    world.telegram.userSays(OWNER, 'hello');
    await said(world, 1);
    expect(world.model.requests).toHaveLength(1);
    await waitFor(() => chatOf(world, 999).length > 0);
    expect(chatOf(world, 999)).toEqual([
      expect.stringMatching(/^I do not know you, so I do not read your messages\./u),
    ]);
  });

  test('an update that the platform repeats gets no second turn, also across a restart', async () => {
    await using world = await startWorld();
    world.model.reply('once');
    const { updateId } = world.telegram.userSays(OWNER, 'hello');
    await said(world, 1);
    world.telegram.duplicateUpdate(updateId, { asNew: true });
    await world.restart();
    world.telegram.duplicateUpdate(updateId, { asNew: true });
    world.model.reply('twice');
    world.telegram.userSays(OWNER, 'next');
    await said(world, 2);
    expect(chatOf(world)).toEqual(['once', 'twice']);
  });

  test('/stop ends a turn in the middle of the model’s answer within two seconds, and the next message is answered', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'a very long answer '.repeat(50), eventDelayMs: 100 }, 'Here again.');
    world.telegram.userSays(OWNER, 'tell me a story');
    await waitFor(() => world.model.inFlight === 1, { what: 'the model is answering' });
    const began = performance.now();
    world.telegram.userSays(OWNER, '/stop');
    await said(world, 1);
    expectWithin(performance.now() - began, 2_000, 'the answer');
    await waitFor(() => world.model.requests[0]?.clientGone, { what: 'the model call is cut' });
    world.telegram.userSays(OWNER, 'hello?');
    await said(world, 2);
    expect(chatOf(world)).toEqual(['Stopped.', 'Here again.']);
  });

  test('/new starts afresh: nothing of the old conversation is sent any more', async () => {
    await using world = await startWorld();
    world.model.reply('Noted.', 'Hello.');
    world.telegram.userSays(OWNER, 'my secret word is xylophone');
    await said(world, 1);
    world.telegram.userSays(OWNER, '/new');
    await said(world, 2);
    world.telegram.userSays(OWNER, 'hi');
    await said(world, 3);
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).not.toContain('xylophone');
  });

  test('/help and /status answer while a turn is running; an unknown command gets a suggestion and no model call', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'slow', delayMs: 600 });
    world.telegram.userSays(OWNER, 'work');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(OWNER, '/status');
    world.telegram.userSays(OWNER, '/stauts');
    await said(world, 2);
    expect(world.model.inFlight).toBe(1);
    const texts = chatOf(world).join('\n');
    expect(texts).toContain('openai/scripted-model');
    expect(texts).toContain('Did you mean /status?');
    await said(world, 3);
    expect(world.model.requests).toHaveLength(1);
  });

  test('a message that comes during a turn joins it before the next model call', async () => {
    await using world = await startWorld();
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], delayMs: 300 }, 'Both.');
    world.telegram.userSays(OWNER, 'list the files');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(OWNER, 'and be brief');
    await said(world, 1);
    expect(chatOf(world)).toEqual(['Both.']);
    expect(JSON.stringify(world.model.requests[1]?.body)).toContain('and be brief');
  });

  test('the model and its own tools see no configured secret', async () => {
    await using world = await startWorld();
    const leak = join(world.workspace, 'leak.txt');
    await writeFile(leak, `token: ${world.telegram.token} key: ${MODEL_KEY}`);
    world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'leak.txt' } }] }, 'ok');
    world.telegram.userSays(OWNER, 'read it');
    await said(world, 1);
    const bodies = JSON.stringify(world.model.requests.map(({ body }) => body));
    expect(bodies).toContain('[redacted]');
    expect(bodies).not.toContain(world.telegram.token);
    expect(bodies).not.toContain(MODEL_KEY);
    await rm(leak);
  });

  test('the iteration cap ends with the best answer so far, asked for without tools', async () => {
    await using world = await startWorld({ config: { agent: { maxIterations: 3 } } });
    const call = { calls: [{ name: 'list_dir', arguments: {} }] };
    world.model.reply(call, call, 'This is what I know.');
    world.telegram.userSays(OWNER, 'loop');
    await said(world, 1);
    expect(chatOf(world)).toEqual(['This is what I know.']);
    expect(world.model.requests[2]?.body['tool_choice']).toBe('none');
    expect(world.model.requests[2]?.body['tools']).toEqual(world.model.requests[1]?.body['tools']);
  });
});

describe('the assistant as a library', () => {
  test('run answers with the text, the model and what it used', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'Hello there.', usage: { input: 12, output: 3 } });
    expect(await world.assistant.run('hi')).toMatchObject({
      text: 'Hello there.',
      isError: false,
      model: 'openai/scripted-model',
      usage: { input: 12, output: 3 },
    });
  });

  test('stream shows the text as it grows and ends with the result', async () => {
    await using world = await startWorld();
    world.model.reply({ text: 'one two three four five', chunkSize: 4 });
    const texts: string[] = [];
    const stream = world.assistant.stream('count');
    let step = await stream.next();
    for (; step.done !== true; step = await stream.next()) if (step.value.type === 'text') texts.push(step.value.text);
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.every((text, i) => i === 0 || text.startsWith(texts[i - 1] ?? ''))).toBe(true);
    expect(step.value.text).toBe('one two three four five');
  });

  test('aborting a run stops its turn', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' });
    const controller = new AbortController();
    const run = world.assistant.run('wait', { signal: controller.signal });
    await waitFor(() => world.model.inFlight === 1);
    controller.abort();
    expect(await run).toMatchObject({ outcome: 'stopped' });
  });

  test('the run after an aborted one is answered at once', async () => {
    await using world = await startWorld();
    world.model.reply({ fault: 'hang' }, 'Here.');
    const controller = new AbortController();
    const aborted = world.assistant.run('wait', { signal: controller.signal });
    await waitFor(() => world.model.inFlight === 1);
    controller.abort();
    await aborted;
    const began = performance.now();
    expect(await world.assistant.run('and now?')).toMatchObject({ text: 'Here.' });
    expectWithin(performance.now() - began, 1_500, 'the answer');
  });

  test('who watches a turn sees what each call is about', async () => {
    await using world = await startWorld();
    world.model.reply({ calls: [{ name: 'write_file', arguments: { path: 'a.md', content: 'x' } }] }, 'Done.');
    const titles: string[] = [];
    const stream = world.assistant.stream('write it');
    for await (const event of stream) if (event.type === 'tool-start') titles.push(event.title);
    expect(titles).toEqual(['write_file a.md']);
  });
});

describe('chat -m --json', () => {
  test('prints the ids, the tool calls, the outcome and what it cost', async () => {
    await using world = await startWorld();
    world.model.reply({ calls: [{ name: 'list_dir', arguments: { path: '.' } }] }, 'It is empty.');
    const { code, out } = await runCommand(['chat', '-m', 'what is here?', '--json'], world.home);
    expect(code).toBe(0);
    const printed = JSON.parse(out);
    expect(printed).toMatchObject({
      session: 'main',
      text: 'It is empty.',
      outcome: 'answered',
      isError: false,
      errorKind: null,
      model: 'openai/scripted-model',
    });
    expect(printed.toolCalls).toMatchObject([{ name: 'list_dir', isError: false }]);
    const tapes = await Promise.all(
      (await readdir(join(world.home, 'sessions'))).map((name) => readFile(join(world.home, 'sessions', name), 'utf8')),
    );
    expect(tapes.join('')).toContain(`"${printed.turnId}"`);
  });

  test('names the kind of an error and exits with 1', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => ({ error: { status: 401, message: 'Incorrect API key provided.' } }));
    const { code, out } = await runCommand(['chat', '-m', 'hello', '--json'], world.home);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ isError: true, outcome: 'failed', errorKind: 'auth', toolCalls: [] });
  });
});
