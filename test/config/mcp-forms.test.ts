import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { temporaryFolder } from './temporary-home.ts';

async function serverOf(server: object, env: Record<string, string> = {}): Promise<unknown> {
  const text = JSON.stringify({ mcpServers: { one: server } });
  return (await loadConfig({ home: temporaryFolder(), env, text })).config.mcpServers['one'];
}

test.each([
  [{ command: 'x', disabled: true }, { enabled: false }],
  [{ command: 'x', disabled: false }, { enabled: true }],
  [{ command: 'x', enabled: false }, { enabled: false }],
  [{ serverUrl: 'https://a.example/mcp' }, { url: 'https://a.example/mcp' }],
  [{ url: 'https://a.example/mcp', transport: 'sse' }, { type: 'sse' }],
  [{ url: 'https://a.example/mcp', type: 'streamableHttp' }, { type: 'streamable-http' }],
])('an MCP server that another program wrote as %j is understood', async (written, read) => {
  expect(await serverOf(written)).toMatchObject(read);
});

test('variables may be written as other programs write them', async () => {
  const env = { A: '${A}', B: '${env:A}', C: '${NOT_SET:-plain}', D: '${env:A:-plain}', E: '$${env:A}' };
  expect(await serverOf({ command: 'x', env }, { A: 'value' })).toMatchObject({
    env: { A: 'value', B: 'value', C: 'plain', D: 'value', E: '${env:A}' },
  });
});
