import { createInterface } from 'node:readline';
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
