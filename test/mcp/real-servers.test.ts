import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { McpServerSettings } from '../../src/extensions/mcp/settings.ts';
import { mcpWorld, programOf, server, type McpWorld } from './mcp-world.ts';

const EVERYTHING = programOf('@modelcontextprotocol/server-everything');
const FILESYSTEM = programOf('@modelcontextprotocol/server-filesystem');

/** The reference server over HTTP, on a port that was free a moment ago. */
async function everythingOver(mode: 'streamableHttp' | 'sse'): Promise<{ port: number } & AsyncDisposable> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  probe.close();
  await once(probe, 'close');
  const child = spawn(process.execPath, [EVERYTHING, mode], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const gone = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (/port \d+/iu.test(said)) resolve();
    });
    void gone.then(() => reject(new Error(`the server ended: ${said}`)));
  });
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** What the reference server is good for, however it is reached. */
async function useEverything(world: McpWorld): Promise<void> {
  const report = await world.clients.test('all');
  expect(report).toMatchObject({ is: expect.stringContaining('everything'), resources: true, prompts: true });
  expect(await world.call('mcp_all_echo', { message: 'hi' })).toMatchObject({ output: 'Echo: hi', untrusted: true });
  expect(await world.call('mcp_all_get-sum', { a: 2, b: '3' })).toMatchObject({
    output: expect.stringContaining('2 and 3 is 5'),
  });
  const steps: string[] = [];
  await world.call(
    'mcp_all_trigger-long-running-operation',
    { duration: 1, steps: 2 },
    { progress: (text) => void steps.push(text) },
  );
  expect(steps[0]).toMatch(/^all: .*1 of 2/u);
  const image = await world.call('mcp_all_get-tiny-image');
  expect(image.media).toMatchObject([{ kind: 'image', mediaType: 'image/png', size: 4033 }]);
  expect(image.output).toContain('[image, image/png, 4033 bytes: ');
  const resources = await world.call('mcp_all_read_resource');
  expect(resources.output).toContain('demo://resource/dynamic/text/{resourceId}: ');
  expect(await world.call('mcp_all_read_resource', { uri: 'demo://resource/dynamic/text/1' })).toMatchObject({
    output: expect.stringMatching(/^\[resource demo:\/\/resource\/dynamic\/text\/1\]\n/u),
  });
  const prompts = await world.call('mcp_all_get_prompt');
  expect(prompts.output).toContain(
    'args-prompt: A prompt with two arguments, one required and one optional; takes city',
  );
  expect(await world.call('mcp_all_get_prompt', { name: 'args-prompt', arguments: { city: 'Graz' } })).toMatchObject({
    output: expect.stringMatching(/^user: .*Graz/u),
  });
  const unknown = await world.call('mcp_all_get_prompt', { name: 'no-such-prompt' });
  expect(unknown).toMatchObject({ isError: true, output: expect.stringContaining('answered with an error: ') });
}

const worldWith = (settings: Partial<McpServerSettings>): Promise<McpWorld> => mcpWorld({ all: server(settings) }, 500);

describe('the reference server "everything"', () => {
  test('as a process', async () => {
    await using world = await worldWith({ command: process.execPath, args: [EVERYTHING] });
    await useEverything(world);
  });

  test('over streamable HTTP', async () => {
    await using http = await everythingOver('streamableHttp');
    await using world = await worldWith({ url: `http://127.0.0.1:${http.port}/mcp` });
    await useEverything(world);
  });

  test('over the older SSE, which is found out', async () => {
    await using http = await everythingOver('sse');
    await using world = await worldWith({ url: `http://127.0.0.1:${http.port}/sse` });
    await useEverything(world);
  });
});

test('the reference server "filesystem" reads and writes in the workspace and nowhere else', async () => {
  await using world = await mcpWorld({});
  await world.restart({ files: server({ command: process.execPath, args: [FILESYSTEM, world.folder] }) });
  await world.clients.test('files');
  await writeFile(join(world.folder, 'a.txt'), 'from the test');
  expect(await world.call('mcp_files_read_text_file', { path: join(world.folder, 'a.txt') })).toMatchObject({
    output: 'from the test',
  });
  await world.call('mcp_files_write_file', { path: join(world.folder, 'b.txt'), content: 'from the server' });
  expect(await readFile(join(world.folder, 'b.txt'), 'utf8')).toBe('from the server');
  expect(await world.call('mcp_files_read_text_file', { path: '/etc/hostname' })).toMatchObject({
    isError: true,
    output: expect.stringContaining('Access denied'),
  });
});
