import { expect, test } from 'vitest';
import { loadConfig } from '../../src/core/config/load.ts';
import { mcpServers } from '../../src/extensions/mcp/settings.ts';
import { PROGRAM } from '../support/extensions.ts';
import { failureOf, temporaryFolder } from '../config/temporary-home.ts';

async function serverOf(server: object, env: Record<string, string> = {}): Promise<unknown> {
  const text = JSON.stringify({ mcpServers: { one: server } });
  return mcpServers.of((await loadConfig({ program: PROGRAM, home: temporaryFolder(), env, text })).config)['one'];
}

test.each([
  [{ command: 'x', disabled: true }, { enabled: false }],
  [{ command: 'x', disabled: false }, { enabled: true }],
  [{ command: 'x', disabled: 'true' }, { enabled: false }],
  [{ command: 'x', disabled: ' False ' }, { enabled: true }],
  [{ command: 'x', disabled: 1 }, { enabled: false }],
  [{ command: 'x', disabled: null }, { enabled: true }],
  [{ command: 'x', enabled: 'false' }, { enabled: false }],
  [{ command: 'x', enabled: 'true', disabled: 'yes' }, { enabled: false }],
  [{ command: 'x', isActive: false }, { enabled: false }],
  [{ command: 'x', enabled: false }, { enabled: false }],
  [{ serverUrl: 'https://a.example/mcp' }, { url: 'https://a.example/mcp' }],
  [{ url: 'https://a.example/mcp', transport: 'sse' }, { type: 'sse' }],
  [{ url: 'https://a.example/mcp', type: 'streamableHttp' }, { type: 'streamable-http' }],
])('an MCP server that another program wrote as %j is understood', async (written, read) => {
  expect(await serverOf(written)).toMatchObject(read);
});

test.each([
  [{ command: 'x', disabled: 'maybe' }, 'mcpServers.one.disabled must be true or false, but another text was given.'],
  [{ command: 'x', disabled: '${OFF}' }, 'mcpServers.one.disabled must be true or false, but another text was given.'],
  [{ command: 'x', disabled: [true] }, 'mcpServers.one.disabled must be true or false, but a list was given.'],
  [{ command: 'x', isActive: 2 }, 'mcpServers.one.isActive must be true or false, but a number was given.'],
  [{ command: 'x', enabled: 'maybe' }, 'mcpServers.one.enabled must be true or false, but another text was given.'],
])('an MCP server with a switch that is neither on nor off is refused: %j', async (written, sentence) => {
  const error = await failureOf(serverOf(written, { OFF: 'true' }));
  expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
  expect(error.message).toContain(sentence);
  expect(error.message).toMatch(/config\.json:1:\d+: /u);
});

test.each([
  ['in a variable', { ASSISTANT_MCP_SERVERS: '{"one":{"command":"x","disabled":"true"}}' }, {}],
  ['in the main assistant’s entry for this one', {}, { mcpServers: { one: { command: 'x', disabled: true } } }],
])('an MCP server that is switched off %s is off', async (_title, env, overrides) => {
  const { config } = await loadConfig({ program: PROGRAM, home: temporaryFolder(), env, text: '{}', overrides });
  expect(mcpServers.of(config)['one']).toMatchObject({ enabled: false });
});

test('variables may be written as other programs write them', async () => {
  const env = { A: '${A}', B: '${env:A}', C: '${NOT_SET:-plain}', D: '${env:A:-plain}', E: '$${env:A}' };
  expect(await serverOf({ command: 'x', env }, { A: 'value' })).toMatchObject({
    env: { A: 'value', B: 'value', C: 'plain', D: 'value', E: '${env:A}' },
  });
});

test.each([
  [{ command: 'npx', args: ['-y', 'x'] }],
  [{ command: 'npx', type: 'stdio' }],
  [{ url: 'http://127.0.0.1:3000/mcp', headers: { Authorization: 'Bearer x' } }],
  [{ url: 'https://example.com/sse', type: 'sse' }],
  [{ url: 'https://example.com/mcp', type: 'streamable-http', enabled: false, tools: ['find*'] }],
])('a server may be written as %j', (entry) => {
  expect(mcpServers.schema.safeParse({ one: entry }).success).toBe(true);
});

test.each([
  [{}, 'expected either "command" or "url"'],
  [{ command: 'npx', url: 'https://example.com' }, 'expected either "command" or "url"'],
  [{ command: 'npx', type: 'sse' }, 'expected "stdio" with "command"'],
  [{ url: 'https://example.com', type: 'stdio' }, 'expected "stdio" with "command"'],
  [{ url: 'ftp://example.com' }, 'expected an http:// or https:// address'],
  [{ command: 'npx', role: 'guest' }, 'Invalid option'],
])('%j is refused: %s', (entry, why) => {
  const parsed = mcpServers.schema.safeParse({ one: entry });
  expect(parsed.error?.issues[0]?.message).toContain(why);
});

test('a name is one that fits into the name of a tool', () => {
  expect(mcpServers.schema.safeParse({ 'two words': { command: 'x' } }).success).toBe(false);
});
