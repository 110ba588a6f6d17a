import { expect, test } from 'vitest';
import { mcpServers } from '../../src/extensions/mcp/settings.ts';

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
