import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { startLibrary } from './library-world.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('tools of one run', () => {
  test('are all that its model is shown and may call; the next run has every tool again', async () => {
    await using library = await startLibrary();
    const { assistant, model, workspace } = library;
    await writeFile(join(workspace, 'a.txt'), 'apple');
    model.reply(
      {
        calls: [
          { name: 'read_file', arguments: { path: 'a.txt' } },
          { name: 'write_file', arguments: { path: 'b.txt', content: 'x' } },
        ],
      },
      'done',
      'hello',
    );
    const { toolCalls } = await assistant.run('look', { tools: ['read_file'] });
    expect(model.requests[0]?.view.tools).toEqual(['read_file']);
    expect(toolCalls.map(({ name, ok }) => ({ name, ok }))).toEqual([
      { name: 'read_file', ok: true },
      { name: 'write_file', ok: false },
    ]);
    expect(toolCalls[1]?.problem).toContain('this run was given without the tool write_file');
    await assistant.run('hi');
    expect(model.requests.at(-1)?.view.tools).toContain('write_file');
  });

  test('hold inside a batch, for its subagents and for a tool that the text calls by hand', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    const write = { path: 'b.txt', content: 'x' };
    model.reply(
      { calls: [{ name: 'batch', arguments: { calls: [{ tool: 'write_file', arguments: write }] } }] },
      { calls: [{ name: 'spawn', arguments: { task: 'write b.txt', label: 'writer', wait: true } }] },
      { calls: [{ name: 'write_file', arguments: write }] },
      'I could not.',
      'no luck',
    );
    const { text, toolCalls } = await assistant.run('write it', { tools: ['batch', 'spawn'] });
    expect(text).toContain('no luck');
    expect(toolCalls.map(({ name, ok }) => `${name} ${ok}`)).toEqual(['batch false', 'write_file false', 'spawn true']);
    const ofSubagent = model.requests[3]?.view;
    expect(ofSubagent?.toolResults[0]?.text).toContain('this run was given without the tool write_file');
    const byHand = await assistant.run(',write_file path=b.txt content=x', { tools: [] });
    expect(byHand.text).toContain('this run was given without the tool write_file');
    expect(await assistant.run(',list_dir .')).toMatchObject({ text: expect.not.stringContaining('b.txt') });
  });

  test('with an unknown name are refused with one sentence before anything is sent', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    await expect(assistant.run('hi', { tools: ['read_fil'] })).rejects.toThrow(
      'tools: there is no tool "read_fil". Did you mean read_file?',
    );
    await expect(assistant.run('hi', { retries: -1 })).rejects.toThrow('retries must be a whole number from 0 to 20');
    await expect(assistant.run('hi', { timeoutMs: 0 })).rejects.toThrow('timeoutMs must be a number of milliseconds');
    expect(model.requests).toEqual([]);
  });

  test('are those of that run also when another message comes to its session meanwhile', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    const open = Promise.withResolvers<string>();
    model.reply({ calls: [{ name: 'list_dir', arguments: { path: '.' } }] });
    model.setHandler(async ({ index }) => (index === 1 ? await open.promise : 'second'));
    const first = assistant.run('one', { tools: ['list_dir'] });
    await waitFor(() => model.requests.length === 2, { what: 'the second call of the first run' });
    const second = assistant.run('two');
    open.resolve('first');
    expect((await first).text).toBe('first');
    expect((await second).text).toBe('second');
    expect(model.requests.map(({ view }) => view.tools.includes('write_file'))).toEqual([false, false, true]);
  });

  test('are kept with the message, so that the turn has no others when it is continued after a restart', async () => {
    await using library = await startLibrary();
    const { model } = library;
    const never = Promise.withResolvers<string>();
    model.setHandler(async ({ index }) => (index === 0 ? await never.promise : 'continued'));
    const first = library.assistant.run('go', { tools: ['read_file'], retries: 0 });
    const lost = expect(first).rejects.toMatchObject({ code: 'connection-lost' });
    await waitFor(() => model.inFlight === 1, { what: 'the model works' });
    await library.assistant.close();
    await lost;
    const ended = Promise.withResolvers<string>();
    const assistant = await library.start();
    using _attached = assistant.open('main', { onMessage: ({ text }) => ended.resolve(text) });
    expect(await ended.promise).toContain('continued');
    expect(model.requests.at(-1)?.view.tools).toEqual(['read_file']);
    never.resolve('too late');
  });
});

describe('limits of one run', () => {
  test('timeoutMs stops the turn, and the result says so', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    model.reply({ fault: 'hang' }, 'still here');
    const late = await assistant.run('think', { timeoutMs: 300 });
    expect(late).toMatchObject({ outcome: 'failed', isError: true, errorKind: 'timeout' });
    expect(late.text).toBe('I stopped after working on this for 0.3 seconds.');
    expect(await assistant.run('and now')).toMatchObject({ outcome: 'answered', text: 'still here', errorKind: null });
  });

  test('retries says how often a failed call is tried again', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    model.setHandler(() => ({ error: { status: 503 } }));
    expect(await assistant.run('hi', { retries: 0 })).toMatchObject({ outcome: 'failed', errorKind: 'overloaded' });
    expect(model.requests).toHaveLength(1);
    expect(await assistant.run('hi', { retries: 1 })).toMatchObject({ outcome: 'failed', errorKind: 'overloaded' });
    expect(model.requests).toHaveLength(3);
  });

  test('signal stops the turn', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    model.reply({ fault: 'hang' });
    const stop = new AbortController();
    const stopped = assistant.run('think', { signal: stop.signal });
    await waitFor(() => model.inFlight === 1, { what: 'the model works' });
    stop.abort();
    expect(await stopped).toMatchObject({ outcome: 'stopped', errorKind: 'aborted', isError: true });
  });

  test('model answers this run alone', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    model.reply('from the other', 'from the usual');
    expect(await assistant.run('hi', { model: 'openai/other' })).toMatchObject({
      provider: 'openai',
      model: 'openai/other',
    });
    expect(await assistant.run('hi')).toMatchObject({ model: 'openai/scripted-model' });
    expect(model.requests.map(({ view }) => view.model)).toEqual(['other', 'scripted-model']);
  });
});

describe('images of one run', () => {
  test('may be paths, also relative ones, or bytes; the model sees each', async () => {
    await using library = await startLibrary();
    const { assistant, model, home } = library;
    const path = join(home, 'dot.png');
    await writeFile(path, PNG);
    model.setHandler(() => 'a dot');
    await assistant.run('what is this?', { images: [path] });
    await assistant.run('and this?', { images: [new Uint8Array(PNG)], session: 'other' });
    for (const { body } of model.requests) expect(JSON.stringify(body)).toContain(PNG.toString('base64').slice(0, 60));
  });

  test('that are none are refused with one sentence', async () => {
    await using library = await startLibrary();
    await expect(library.assistant.run('look', { images: [new Uint8Array([1, 2, 3])] })).rejects.toThrow(
      'images[0] must be a PNG, JPEG, GIF or WebP image, but other bytes were given.',
    );
  });
});
