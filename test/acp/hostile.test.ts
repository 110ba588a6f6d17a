import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { startEditorWorld } from './editor.ts';

interface Answer {
  readonly id?: number | string | null;
  readonly error?: { readonly code: number; readonly message: string };
  readonly result?: unknown;
}

test('frames that are none, too long, unknown or of unknown sessions get errors of the protocol and end nothing', async () => {
  await using world = await startEditorWorld();
  const child = world.spawn('acp');
  const answers: Answer[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => answers.push(JSON.parse(line) as Answer));
  const write = (frame: string): void => void child.stdin.write(`${frame}\n`);
  const next = async (frame: string): Promise<Answer | undefined> => {
    const before = answers.length;
    write(frame);
    await waitFor(() => answers.length > before, { what: `an answer to ${frame.slice(0, 80)}` });
    return answers.at(-1);
  };
  const call = (id: number, method: string, params: unknown): string =>
    JSON.stringify({ jsonrpc: '2.0', id, method, params });
  expect(await next('{"jsonrpc": "2.0", "id": 1, ')).toMatchObject({ id: null, error: { code: -32_700 } });
  expect(await next('[]')).toMatchObject({ id: null, error: { code: -32_600 } });
  expect(await next('7')).toMatchObject({ id: null, error: { code: -32_600 } });
  expect(await next(call(2, 'session/list', {}))).toMatchObject({ id: 2, error: { code: -32_600 } });
  const hello = { protocolVersion: 1, clientCapabilities: {} };
  expect(await next(call(3, 'initialize', hello))).toMatchObject({ id: 3, result: { protocolVersion: 1 } });
  expect(await next(call(4, 'session/fly', {}))).toMatchObject({ id: 4, error: { code: -32_601 } });
  const prompt = { sessionId: 'nobody', prompt: [{ type: 'text', text: 'hi' }] };
  expect(await next(call(5, 'session/prompt', prompt))).toMatchObject({ id: 5, error: { code: -32_002 } });
  const load = { sessionId: '../../etc', cwd: '/', mcpServers: [] };
  expect(await next(call(6, 'session/load', load))).toMatchObject({ id: 6, error: { code: -32_002 } });
  expect(await next(call(7, 'session/new', { cwd: 7 }))).toMatchObject({ id: 7, error: { code: -32_602 } });
  const relative = { cwd: 'here', mcpServers: [] };
  expect(await next(call(8, 'session/new', relative))).toMatchObject({ id: 8, error: { code: -32_602 } });
  const long = call(9, 'session/prompt', { ...prompt, prompt: [{ type: 'text', text: 'x'.repeat(10_000_000) }] });
  expect(await next(long)).toMatchObject({ id: null, error: { code: -32_600 } });
  expect(await next(call(10, 'authenticate', { methodId: 'none' }))).toMatchObject({ error: { code: -32_602 } });
  expect(await next(call(11, 'session/list', {}))).toMatchObject({ id: 11, result: { sessions: [] } });
  expect(world.model.requests).toEqual([]);
  expect(child.exitCode).toBeNull();
});

test('requests of the wrong shape, floods, and answers to nothing end nothing, and only frames are on standard output', async () => {
  await using world = await startEditorWorld({ logging: { level: 'debug' } });
  const child = world.spawn('acp');
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const write = (frame: unknown): void =>
    void child.stdin.write(`${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n`);
  const answerTo = async (id: number): Promise<Answer> =>
    await waitFor(() => lines.map((line) => JSON.parse(line) as Answer).find((answer) => answer.id === id), {
      what: `the answer to ${id}`,
    });
  const call = (id: number, method: string, params: unknown): void => write({ jsonrpc: '2.0', id, method, params });
  // A version that there is not yet: it is answered with the one that is spoken.
  call(1, 'initialize', { protocolVersion: 99, clientCapabilities: { fs: 'all', terminal: 7, _meta: { more: true } } });
  expect(await answerTo(1)).toMatchObject({ result: { protocolVersion: 1, authMethods: [] } });
  call(2, 'session/new', { cwd: world.workspace, mcpServers: [], _meta: { from: 'a test' } });
  const { sessionId } = (await answerTo(2)).result as { readonly sessionId: string };
  write(Buffer.from([0xff, 0xfe, 0x00, 0x0a]).toString('latin1'));
  write({ jsonrpc: '2.0', id: 777, result: { outcome: { outcome: 'selected', optionId: 'always' } } });
  write({ jsonrpc: '2.0', id: null, error: { code: 1, message: 'no' } });
  write({ jsonrpc: '1.0', method: 'session/cancel', params: { sessionId } });
  write({ jsonrpc: '2.0', method: '$/cancel_request', params: { requestId: { deep: [] } } });
  write(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  for (let i = 0; i < 2_000; i += 1)
    write({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: `no-${i}` } });
  for (let i = 0; i < 500; i += 1) call(1_000 + i, 'session/set_mode', { sessionId, modeId: i });
  expect(await answerTo(1_499)).toMatchObject({ error: { code: -32_602 } });
  const wrong: readonly (readonly [string, unknown])[] = [
    ['session/prompt', { sessionId, prompt: 'hello' }],
    ['session/prompt', { sessionId, prompt: [] }],
    ['session/prompt', { sessionId, prompt: [{ type: 'image', data: 'no', mimeType: 'text/html' }] }],
    ['session/prompt', { sessionId, prompt: [{ type: 'audio', data: '', mimeType: 'audio/wav' }] }],
    ['session/new', { cwd: world.workspace, mcpServers: [{ name: 'x' }] }],
    ['session/new', { cwd: world.workspace, mcpServers: [{ type: 'http', name: 'x', url: 'ftp://a/', headers: [] }] }],
    ['session/new', { cwd: join(world.home, 'config.json'), mcpServers: [] }],
    ['session/set_mode', { sessionId, modeId: '__proto__' }],
  ];
  for (const [n, [method, params]] of wrong.entries()) {
    call(2_000 + n, method, params);
    expect(await answerTo(2_000 + n), JSON.stringify(params)).toMatchObject({ error: { code: -32_602 } });
  }
  for (const [n, id] of ['__proto__', '../../state', '', 'x'.repeat(100_000)].entries()) {
    for (const [m, method] of ['session/load', 'session/delete', 'session/close', 'session/prompt'].entries()) {
      const number = 3_000 + 10 * n + m;
      call(number, method, { sessionId: id, cwd: '/', mcpServers: [], prompt: [{ type: 'text', text: 'hi' }] });
      expect((await answerTo(number)).error?.code, `${method} ${id.slice(0, 20)}`).toBe(-32_002);
    }
  }
  expect(world.model.requests).toEqual([]);
  world.model.reply('Still here.');
  call(4_000, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'are you there?' }] });
  expect(await answerTo(4_000)).toMatchObject({ result: { stopReason: 'end_turn' } });
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  expect(child.exitCode).toBeNull();
});

test('a cancel stops the prompt before it and not the one after it, also when all of them come at once', async () => {
  await using world = await startEditorWorld();
  world.model.setHandler(() => 'An answer.');
  const child = world.spawn('acp');
  const answers: Answer[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => answers.push(JSON.parse(line) as Answer));
  const frame = (rest: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...rest })}\n`;
  const answerTo = async (id: number): Promise<unknown> =>
    (await waitFor(() => answers.find((one) => one.id === id), { what: `the answer to ${id}` })).result;
  child.stdin.write(frame({ id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities: {} } }));
  child.stdin.write(frame({ id: 2, method: 'session/new', params: { cwd: world.workspace, mcpServers: [] } }));
  const { sessionId } = (await answerTo(2)) as { readonly sessionId: string };
  const prompt = (id: number, text: string): string =>
    frame({ id, method: 'session/prompt', params: { sessionId, prompt: [{ type: 'text', text }] } });
  const cancel = frame({ method: 'session/cancel', params: { sessionId } });
  child.stdin.write([cancel, prompt(3, 'one'), cancel, prompt(4, 'two'), cancel, cancel, prompt(5, 'three')].join(''));
  expect([await answerTo(3), await answerTo(4), await answerTo(5)]).toEqual([
    { stopReason: 'cancelled' },
    { stopReason: 'cancelled' },
    { stopReason: 'end_turn' },
  ]);
});
