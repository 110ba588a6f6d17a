import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { methods, type McpServer } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { FIXTURE_SERVER } from '../mcp/built-fixture.ts';
import { remote } from '../mcp/remote-server.ts';
import { waitFor } from '../support/wait.ts';
import { begin, load, say, startEditorWorld, type EditorWorld } from './editor.ts';

const SECRET = 'k7Qw9zLm2Xv4Rt6Y';

/** The server of the tests; it writes its process id into a file at each start. */
function fixture(world: EditorWorld, name = 'fix'): McpServer & { readonly starts: () => Promise<readonly number[]> } {
  const startsFile = join(world.home, '..', `${name}-starts`);
  return {
    name,
    command: process.execPath,
    args: [FIXTURE_SERVER, '', startsFile],
    env: [{ name: 'FIX_TOKEN', value: SECRET }],
    starts: async () => {
      const text = await readFile(startsFile, 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => /^\d+$/u.test(line))
        .map(Number);
    },
  };
}

const echo = (text: string): object => ({ calls: [{ name: 'mcp_editor_fix_echo', arguments: { text } }] });

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const toolNames = ({ model }: EditorWorld): readonly string[] =>
  (model.requests.at(-1)?.view.tools ?? []).filter((name) => name.startsWith('mcp_'));
const titles = (asked: readonly { readonly toolCall: { readonly title?: string | null } }[]): readonly unknown[] =>
  asked.map(({ toolCall }) => toolCall.title);

describe.concurrent('the MCP servers of an editor', () => {
  for (const how of ['alone', 'attached to a gateway']) {
    test(`${how}: a server starts after a yes, the first use of each tool asks, and it ends with the editor`, async () => {
      await using world = await startEditorWorld({
        mcpServers: { fix: { command: process.execPath, args: [FIXTURE_SERVER] } },
      });
      if (how !== 'alone') await world.gateway();
      const { starts, ...server } = fixture(world);
      world.model.reply(
        echo('one'),
        echo('two'),
        { calls: [{ name: 'mcp_editor_fix_environment', arguments: {} }] },
        { calls: [{ name: 'mcp_editor_fix_roots', arguments: {} }] },
        'Said.',
      );
      const editor = await world.editor();
      const sessionId = await begin(editor, world.project, [server]);
      expect(await starts()).toEqual([]);
      expect(await say(editor, sessionId, 'say it')).toEqual({ stopReason: 'end_turn' });
      expect(titles(editor.asked)).toEqual([
        `Read and change the files in ${world.project}?`,
        'Start the MCP server fix?',
        'Use a tool of the editor',
        // What it answered is text of others.
        'Use the tool mcp_editor_fix_echo',
        'Use a tool of the editor',
        'Use a tool of the editor',
      ]);
      const question = JSON.stringify(editor.asked[1]);
      expect(question).toContain(FIXTURE_SERVER);
      expect(question).toContain(`FIX_TOKEN=\\\\\\"${SECRET}`.replaceAll('\\\\\\', '\\'));
      expect(editor.asked[1]?.options.map(({ kind }) => kind)).toEqual(['allow_once', 'reject_once']);
      expect(JSON.stringify(editor.asked[2])).toContain('mcp_editor_fix_echo');
      const body = JSON.stringify(world.model.requests.at(-1)?.body);
      expect(body).toMatch(/untrusted[^>]*mcp_editor_fix_echo[^]*echo \{[^}]*one/u);
      expect(body).toContain('FIX_TOKEN');
      expect(body).not.toContain(SECRET);
      expect(body).not.toContain('test-key-0001');
      expect(body).toContain(`file://${world.project}`);
      const [pid = 0] = await starts();
      expect(isAlive(pid)).toBe(true);
      await editor.close();
      await waitFor(() => !isAlive(pid), { what: 'the end of the server' });
    });
  }

  test('a server that the owner refuses is not started, and one that does not start is told of', async () => {
    await using world = await startEditorWorld();
    const { starts, ...server } = fixture(world);
    const broken = { name: 'broken', command: '/no/such/program', args: [], env: [] };
    const editor = await world.editor({
      choose: ({ toolCall }) => (toolCall.title?.includes('fix') === true ? 'no' : 'once'),
    });
    world.model.reply('Hello.');
    const sessionId = await begin(editor, world.workspace, [server, broken]);
    await say(editor, sessionId, 'hi');
    expect(editor.said()).toContain('I work without the MCP server fix.');
    expect(editor.said()).toMatch(/The MCP server broken of the editor does not work: it ended with exit code 127/u);
    expect(await starts()).toEqual([]);
    expect(toolNames(world)).toEqual([]);
    world.model.reply('Hello again.');
    await say(editor, sessionId, 'hi');
    expect(editor.asked).toHaveLength(2);
  });

  test('its tools are offered to its conversation alone, and a no to the first use is a no', async () => {
    await using world = await startEditorWorld();
    await world.gateway();
    const { starts: _, ...server } = fixture(world);
    const editor = await world.editor({
      choose: ({ toolCall }) => (toolCall.title?.startsWith('Use') === true ? 'no' : 'once'),
    });
    world.model.reply(echo('one'), 'Not said.');
    const sessionId = await begin(editor, world.workspace, [server]);
    await say(editor, sessionId, 'say it');
    expect(toolNames(world)).toContain('mcp_editor_fix_echo');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('Not done: the owner said no');
    world.model.reply(echo('stolen'), 'There is none.');
    await say(editor, await begin(editor, world.workspace), 'say it too');
    expect(toolNames(world)).toEqual([]);
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('There is no tool named mcp_editor_fix_echo');
    await editor.connection.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'read-only' });
    world.model.reply('Only reading.');
    await say(editor, sessionId, 'and now?');
    expect(toolNames(world)).toEqual([]);
  });

  test('a remote server is reached with its headers, which are not shown', async () => {
    await using world = await startEditorWorld();
    await using there = await remote();
    const server: McpServer = {
      type: 'http',
      name: 'far away',
      url: there.url,
      headers: [{ name: 'Authorization', value: `Bearer ${SECRET}` }],
    };
    world.model.reply({ calls: [{ name: 'mcp_editor_far_away_echo', arguments: {} }] }, 'Said.');
    const editor = await world.editor();
    await say(editor, await begin(editor, world.workspace, [server]), 'say it');
    expect(JSON.stringify(editor.asked)).toContain(there.url);
    expect(JSON.stringify(editor.asked)).not.toContain(SECRET);
    expect(there.asked.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('said');
  });

  test('killed and loaded, it asks for its servers again; after a gateway that was killed they run without a question', async () => {
    await using world = await startEditorWorld();
    const gateway = await world.gateway();
    const { starts, ...server } = fixture(world);
    const first = await world.editor();
    world.model.reply('Hello.');
    const sessionId = await begin(first, world.workspace, [server]);
    await say(first, sessionId, 'hi');
    await first.kill('SIGKILL');
    const second = await world.editor();
    await load(second, sessionId, world.workspace, [server]);
    world.model.reply(echo('again'), 'Said.');
    await say(second, sessionId, 'say it');
    expect(titles(second.asked)).toEqual(['Start the MCP server fix?', 'Use a tool of the editor']);
    await gateway.kill('SIGKILL');
    const before = (await starts()).length;
    await world.gateway();
    await waitFor(async () => (await starts()).length > before, { what: 'the server to be started again' });
    world.model.reply(echo('once more'), 'Said again.');
    await say(second, sessionId, 'say it again');
    expect(second.said()).toMatch(/Said again\.$/u);
    expect(titles(second.asked)).toEqual([
      'Start the MCP server fix?',
      'Use a tool of the editor',
      'Use a tool of the editor',
    ]);
  });

  test('servers that are none, or have one name twice, are refused', async () => {
    await using world = await startEditorWorld();
    const editor = await world.editor();
    const { starts: _, ...server } = fixture(world);
    await expect(begin(editor, world.workspace, [server, server])).rejects.toMatchObject({ code: -32_602 });
    const file = { type: 'http' as const, name: 'file', url: 'file:///etc/passwd', headers: [] };
    await expect(begin(editor, world.workspace, [file])).rejects.toMatchObject({ code: -32_602 });
  });
});
