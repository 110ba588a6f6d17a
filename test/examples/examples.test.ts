import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { openExample } from './example.ts';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

test('each example that is a program has a page, fits on one, and is in the table', async () => {
  const table = await readFile(join(EXAMPLES, 'README.md'), 'utf8');
  const files = await readdir(EXAMPLES, { recursive: true });
  const programs = files.filter((file) => /^[^/]+\/main\.ts$/u.test(file)).map((file) => dirname(file));
  expect(programs.toSorted()).toEqual(['ask-once', 'nightly-report', 'own-provider', 'own-tool', 'web-chat']);
  for (const name of programs) {
    expect(table).toContain(`| [${name}](${name}/README.md) | `);
    const code = await readFile(join(EXAMPLES, name, 'main.ts'), 'utf8');
    expect(code.split('\n').length, name).toBeLessThanOrEqual(81);
    expect(code, name).toContain("from 'assistantd'");
  }
});

describe('as its page says', () => {
  test('ask-once reads a file and answers; a failure is its exit code', async () => {
    await using example = await openExample('ask-once');
    const { model, home, commands, prints } = example;
    await mkdir(join(home, 'workspace'));
    await writeFile(join(home, 'workspace', 'notes.md'), 'buy milk');
    model.reply({ calls: [{ name: 'read_file', arguments: { path: 'notes.md' } }] }, 'It says: buy milk.');
    expect(await example.run(commands[0])).toEqual({ code: 0, printed: prints[0] });
    expect(model.requests[0]?.view.tools.toSorted()).toEqual(['grep', 'list_dir', 'read_file', 'web_fetch']);
    model.setHandler(() => ({ error: { status: 401 } }));
    const failed = await example.run(commands[0]);
    expect(failed).toMatchObject({ code: 1, printed: expect.stringContaining('\nauth: openai/some-model') });
  });

  test('ask-once stops its turn with Ctrl-C', async () => {
    await using example = await openExample('ask-once');
    const { model, commands } = example;
    model.setHandler(() => ({ fault: 'hang' }));
    const child = example.start(commands[0] ?? '');
    let printed = '';
    child.stdout.on('data', (piece) => (printed += String(piece)));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await waitFor(() => model.inFlight === 1, { what: 'the model works' });
    child.kill('SIGINT');
    await ended;
    expect(printed).toMatch(/^Stopped\.\naborted: /u);
  });

  test('own-tool writes down, asks before what is big, and lists', async () => {
    await using example = await openExample('own-tool');
    const { model, commands, prints } = example;
    const add = (euros: number, what: string): object => ({
      calls: [{ name: 'add_expense', arguments: { euros, what } }],
    });
    model.reply(add(4.5, 'coffee'), 'Noted: coffee.');
    expect(await example.run(commands[0])).toEqual({ code: 0, printed: prints[0] });
    model.reply(add(250, 'a train ticket'), 'Noted: the ticket.');
    expect(await example.run(commands[1], 'y\n')).toEqual({ code: 0, printed: prints[1] });
    model.reply(add(900, 'a sofa'), 'Then not.');
    expect((await example.run(commands[1], 'n\n')).printed).toMatch(/\n✗ .*the owner said no.*\nThen not\./u);
    expect(await example.run(commands[2])).toEqual({ code: 0, printed: prints[2] });
  });

  test('own-provider needs no model server at all', async () => {
    await using example = await openExample('own-provider');
    const { model, commands, prints } = example;
    expect(await example.run(commands[0])).toEqual({ code: 0, printed: prints[0] });
    expect(model.requests).toEqual([]);
  });

  test('nightly-report keeps the file that was sent, or says why there is none', async () => {
    await using example = await openExample('nightly-report');
    const { model, folder, commands, prints } = example;
    await mkdir(join(folder, 'photos'));
    await writeFile(join(folder, 'photos', 'left.png'), PNG);
    model.reply(
      { calls: [{ name: 'write_file', arguments: { path: 'shelves.md', content: 'Rice is missing.' } }] },
      { calls: [{ name: 'message', arguments: { text: 'The report.', media: ['shelves.md'] } }] },
      'Sent.',
    );
    expect(await example.run(commands[0])).toEqual({ code: 0, printed: prints[0] });
    expect(await readFile(join(folder, 'reports', '2026-11-27-shelves.md'), 'utf8')).toBe('Rice is missing.');
    expect(JSON.stringify(model.requests[0]?.body)).toContain(PNG.toString('base64').slice(0, 60));
    expect(await readFile(join(folder, 'turns.csv'), 'utf8')).toMatch(/^2026-11-27,answered,,\d+\n$/u);
    model.setHandler(() => ({ error: { status: 400, message: 'no pictures' } }));
    const failed = await example.run(commands[0]);
    expect(failed).toMatchObject({ code: 1, printed: expect.stringMatching(/No report \(bad-request\)/u) });
    expect(failed.printed).toMatch(/Why: assistant why [0-9A-Z]{26} --home /u);
  });

  test('web-chat streams answers to its page, refuses what a guard refuses, and stops a turn whose visitor is gone', async () => {
    await using example = await openExample('web-chat');
    const { model, commands, prints } = example;
    expect(prints).toEqual(['http://127.0.0.1:8080']);
    const child = example.start(commands[0] ?? '', { PORT: '0' });
    let printed = '';
    child.stdout.on('data', (piece) => (printed += String(piece)));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    try {
      const address = await waitFor(() => /http:\/\/127\.0\.0\.1:\d+/u.exec(printed)?.[0], { what: 'its address' });
      expect(await (await fetch(address)).text()).toContain('<h1>Ask us</h1>');
      const ask = (text: string, init: RequestInit = {}): Promise<Response> =>
        fetch(`${address}/chat`, { method: 'POST', body: JSON.stringify({ visitor: 'v1', text }), ...init });
      const linesOf = async (answer: Response): Promise<readonly { text: string; error?: string | null }[]> =>
        (await answer.text())
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { text: string });

      model.reply({ text: 'We open at nine and close at five.', eventDelayMs: 20 });
      const lines = await linesOf(await ask('/restart'));
      expect(lines.length).toBeGreaterThan(1);
      expect(lines.at(-1)).toEqual({ text: 'We open at nine and close at five.', error: null });
      expect(model.requests[0]?.view).toMatchObject({ tools: [], lastUserText: expect.stringContaining('/restart') });

      expect((await linesOf(await ask('my password is x'))).at(-1)?.text).toBe('Never send us a password.');
      expect((await ask('hi', { headers: { origin: 'http://elsewhere.example' } })).status).toBe(404);
      expect((await ask('hi', { body: '{"visitor":"../x","text":"hi"}' })).status).toBe(400);

      model.setHandler(() => ({ text: 'a long story '.repeat(200), eventDelayMs: 50 }));
      const leave = new AbortController();
      const gone = ask('tell me a story', { signal: leave.signal }).then((answer) => answer.text());
      await waitFor(() => model.inFlight === 1, { what: 'the model tells a story' });
      leave.abort();
      await expect(gone).rejects.toThrow();
      await waitFor(() => model.requests.at(-1)?.clientGone === true, { what: 'the model call is cut' });
    } finally {
      child.kill('SIGTERM');
    }
    expect(await ended).toBe(0);
  });
});
