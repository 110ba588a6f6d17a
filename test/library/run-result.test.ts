import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunEvent } from '../../src/app.ts';
import { waitFor } from '../support/wait.ts';
import { startLibrary } from './library-world.ts';

describe('the result of a run', () => {
  test('names turn, session, provider and model, the tool calls, the files that were sent, usage, cost and time', async () => {
    await using library = await startLibrary({
      config: { models: { 'openai/scripted-model': { price: { input: 1, output: 2 } } } },
    });
    const { assistant, model, workspace } = library;
    await writeFile(join(workspace, 'report.md'), '# Report');
    model.reply(
      { calls: [{ name: 'read_file', arguments: { path: 'report.md' } }] },
      {
        calls: [
          { name: 'message', arguments: { text: 'Here it is.', media: ['report.md'] } },
          { name: 'read_file', arguments: '{"path": ' },
        ],
      },
      { text: 'Sent.', usage: { input: 100, output: 20 } },
    );
    const result = await assistant.run('send me the report', { session: 'work' });
    expect(result).toMatchObject({
      outcome: 'answered',
      isError: false,
      errorKind: null,
      sessionKey: 'terminal:work',
      provider: 'openai',
      model: 'openai/scripted-model',
      usage: { input: 120, output: 30 },
    });
    expect(result.text).toContain('Sent.');
    expect(result.turnId).toMatch(/^[0-9A-Z]{26}$/u);
    expect(result.costUsd).toBeCloseTo((120 * 1 + 30 * 2) / 1e6, 10);
    expect(result.durationMs).toBeGreaterThan(0);
    expect(result.toolCalls).toEqual([
      {
        name: 'read_file',
        args: { path: 'report.md' },
        ok: true,
        title: 'read report.md',
        problem: null,
        durationMs: expect.any(Number),
      },
      expect.objectContaining({ name: 'message', ok: true, title: 'message to terminal:work' }),
      expect.objectContaining({ name: 'read_file', args: '{"path": ', ok: false, problem: expect.any(String) }),
    ]);
    expect(result.media).toMatchObject([{ name: 'report.md', kind: 'document' }]);
    expect(await readFile(result.media[0]?.path ?? '', 'utf8')).toBe('# Report');
  });

  test.each([
    ['auth', { error: { status: 401 } }],
    ['rate-limit', { error: { status: 429 } }],
    ['bad-request', { error: { status: 400 } }],
    ['network', { fault: 'reset' }],
  ] as const)('has the kind of error %s', async (errorKind, step) => {
    await using library = await startLibrary();
    library.model.setHandler(() => step);
    const failed = await library.assistant.run('hi', { retries: 0 });
    expect(failed).toMatchObject({ outcome: 'failed', isError: true, errorKind });
    expect(failed.text).not.toBe('');
  });

  test('has the kind limit for a used-up budget and denied for the word of a hook', async () => {
    await using library = await startLibrary({
      config: { agent: { model: 'openai/scripted-model', maxIterations: 1 } },
    });
    library.model.reply('', '', '');
    expect(await library.assistant.run('hi')).toMatchObject({ outcome: 'failed', errorKind: 'limit' });
    await library.assistant.close();
    const assistant = await library.start({ hooks: { beforeModel: () => ({ type: 'deny', reason: 'Not today.' }) } });
    expect(await assistant.run('hi')).toMatchObject({ outcome: 'failed', errorKind: 'denied', text: 'Not today.' });
  });

  test('of a command has no calls and no model', async () => {
    await using library = await startLibrary();
    const result = await library.assistant.run('/help');
    expect(result).toMatchObject({ outcome: 'command', provider: null, toolCalls: [], media: [], errorKind: null });
  });
});

describe('the events of a run', () => {
  test('end with the same result that the stream returns', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    model.reply({ calls: [{ name: 'list_dir', arguments: { path: '.' } }] }, 'Empty.');
    const stream = assistant.stream('look', { tools: ['list_dir'] });
    const events: RunEvent[] = [];
    for (;;) {
      const next = await stream.next();
      if (next.done !== true) {
        events.push(next.value);
        continue;
      }
      const end = events.at(-1);
      expect(end).toMatchObject({ type: 'turn-end', turnId: next.value.turnId });
      expect(end?.type === 'turn-end' ? end.result : null).toEqual(next.value);
      expect(next.value.toolCalls).toMatchObject([{ name: 'list_dir', ok: true }]);
      break;
    }
    expect(events.map(({ type }) => type)).toContain('tool-start');
    expect(model.requests[0]?.view.tools).toEqual(['list_dir']);
  });

  test('end with its own turn, also when turns of the same session end before and after it', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    const open = Promise.withResolvers<string>();
    model.setHandler(async ({ index }) => (index === 0 ? await open.promise : `answer ${index}`));
    const first = assistant.run('one', { model: 'openai/a' });
    await waitFor(() => model.inFlight === 1, { what: 'the first turn runs' });
    const ends: string[] = [];
    const second = (async () => {
      for await (const event of assistant.stream('two', { model: 'openai/b' })) {
        if (event.type === 'turn-end') ends.push(event.result.text);
        else if (ends.length > 0) ends.push(event.type);
      }
    })();
    const third = assistant.run('three', { model: 'openai/c' });
    open.resolve('answer 0');
    await Promise.all([first, second, third]);
    expect(ends).toEqual(['answer 1']);
  });

  test('may be left early: the turn goes on, and the next run is answered', async () => {
    await using library = await startLibrary();
    const { assistant, model } = library;
    model.reply('one two three', 'next');
    for await (const event of assistant.stream('hi')) if (event.type === 'text') break;
    expect((await assistant.run('again')).text).toBe('next');
  });
});
