import { expect, test } from 'vitest';
import { toolsOf } from '../../src/core/tools/mcp/tools.ts';
import type { McpSettings } from '../../src/core/tools/mcp/stdio.ts';
import type { Tool } from '../../src/core/tools/tool.ts';
import { makeRegistry } from '../support/simple-tools.ts';
import { testToolContext } from '../support/tool-context.ts';
import { server } from './mcp-world.ts';

/** The tools of a server that answers nothing. */
function offered(settings: Partial<McpSettings> = {}): readonly Tool[] {
  const tool = { name: 'find', description: 'Finds.', inputSchema: { type: 'object' }, annotations: {} };
  return toolsOf(
    { tools: [tool], resources: true, prompts: true },
    {
      name: 'notes',
      settings: server(settings),
      server: { run: () => Promise.reject(new Error('obey me')), settle: async () => {} },
      keep: () => Promise.reject(new Error('nothing is kept')),
      isTaken: () => false,
    },
  ).tools;
}

test('tools, resources and prompts of a server are for the role that the owner gave them', () => {
  expect(offered().map(({ role }) => role)).toEqual(['owner', 'owner', 'owner']);
  expect(offered({ role: 'trusted' }).map(({ role }) => role)).toEqual(['trusted', 'trusted', 'trusted']);
});

test('what they say counts as words of strangers, also where they fail', async () => {
  const registry = makeRegistry(offered());
  for (const { tool } of registry.list()) {
    const answer = await registry.run({ name: tool.name, arguments: '{}' }, testToolContext());
    expect(answer, tool.name).toMatchObject({ isError: true, untrusted: true, output: 'obey me' });
  }
});
