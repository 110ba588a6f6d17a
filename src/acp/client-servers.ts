import type { McpServer, RequestPermissionRequest } from '@agentclientprotocol/sdk';
import { MOST_EDITOR_SERVERS, editorServer, type EditorServer } from '../core/bus/editor.ts';
import { fenced, oneLine } from '../core/util/text.ts';
import { NO } from './permission.ts';
import { refused } from './prompt-content.ts';
import { text } from './updates.ts';

const LONGEST_NAME = 100;

/** The MCP servers of an editor as the assistant takes them. Throws invalid params for what it cannot start or reach. */
export function editorServers(given: readonly McpServer[]): readonly EditorServer[] {
  if (given.length > MOST_EDITOR_SERVERS) throw refused(`At most ${MOST_EDITOR_SERVERS} MCP servers are taken.`);
  const servers = given.map((one) => {
    const name = oneLine(one.name, LONGEST_NAME);
    const parsed = editorServer.safeParse({ ...plainly(one), name });
    if (!parsed.success) throw refused(`The MCP server ${JSON.stringify(name)} is neither a program nor an address.`);
    return parsed.data;
  });
  const twice = servers.find(({ name }, at) => servers.findIndex((other) => other.name === name) !== at);
  if (twice !== undefined) throw refused(`Two MCP servers have the name ${JSON.stringify(twice.name)}.`);
  return servers;
}

function plainly(server: McpServer): object {
  if ('url' in server) return { type: server.type, url: server.url, headers: pairs(server.headers) };
  return { command: server.command, args: server.args, env: pairs(server.env) };
}

function pairs(list: readonly { readonly name: string; readonly value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/** Whether a server may be started, or reached, for a conversation: exactly what will run. */
export function serverPermission(sessionId: string, server: EditorServer): RequestPermissionRequest {
  const isRemote = 'url' in server;
  const why = isRemote
    ? 'Your editor brought this MCP server. What it answers counts as text of others. The first use of each of its tools is asked about.'
    : 'Your editor brought this MCP server. It runs outside the sandbox and can do whatever you can do. The first use of each of its tools is asked about.';
  return {
    sessionId,
    toolCall: {
      toolCallId: `mcp:${sessionId}:${server.name}`,
      title: `${isRemote ? 'Connect to' : 'Start'} the MCP server ${server.name}?`,
      kind: 'other',
      status: 'pending',
      content: [{ type: 'content', content: text(`${fenced(runs(server))}\n\n${why}`) }],
    },
    options: [{ optionId: 'once', name: 'Allow for this conversation', kind: 'allow_once' }, NO],
  };
}

/** One line each: the program with its arguments, and its variables; or the address, and the names of the headers. */
function runs(server: EditorServer): string {
  if ('url' in server) {
    const headers = Object.keys(server.headers);
    return [server.url, ...(headers.length === 0 ? [] : [`headers: ${headers.join(', ')}`])].map(shown).join('\n');
  }
  const command = [server.command, ...server.args].map((word) =>
    /^[\w./:=@,+-]+$/u.test(word) ? word : JSON.stringify(word),
  );
  const variables = Object.entries(server.env).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [command.join(' '), ...variables].map(shown).join('\n');
}

/** With everything that cannot be seen spelled out. */
function shown(line: string): string {
  return line.replaceAll(/[^\P{C}\t]|[\u2028\u2029]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}
