import { count, flag, optionalText, section, z } from '../../core/api.ts';
import { httpUrl, text, textMap, texts } from '../../core/api-settings.ts';
import { ownForms, unreadSwitches } from './forms.ts';

const mcpServer = z
  .object({
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'sse'], {
        error: 'expected "stdio", "http", "streamable-http" or "sse"',
      })
      .nullable()
      .default(null)
      .describe('Transport; null: stdio for `command`, and for `url` streamable HTTP, then SSE.'),
    command: text().optional().describe('The program of a local server.'),
    args: z.array(z.string()).default([]).describe('Arguments of the program.'),
    env: textMap('Environment variables for it, in addition to `PATH`, `HOME` and the like.'),
    cwd: optionalText('The folder it starts in; null: the workspace.'),
    url: httpUrl().optional().describe('Address of a remote server, instead of `command`; its host may be private.'),
    headers: textMap('Headers that are sent to it.'),
    enabled: flag(true, 'Whether it is used.'),
    tools: texts('Names of its tools that may be used; `*` stands for any part of a name.', ['*']),
    role: z.enum(['owner', 'trusted']).default('owner').describe('The lowest role that may call its tools.'),
    trusted: flag(false, 'Whether its read-only hints are trusted; read-only calls then run in parallel.'),
    timeouts: z
      .object({
        startSeconds: count(60, 1, 'Seconds that it may take to start and to list its tools.'),
        callSeconds: count(120, 1, 'Seconds that one call may take.'),
      })
      .prefault({})
      .describe('How long the server may take before a start or a call fails.'),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    error: 'expected either "command" or "url"',
  })
  .refine(({ type, command }) => type === null || (type === 'stdio') === (command !== undefined), {
    path: ['type'],
    error: 'expected "stdio" with "command", or "http" or "sse" with "url"',
  })
  .describe('One MCP server.');

export type McpServerSettings = z.output<typeof mcpServer>;

/** MCP servers by name. */
export const mcpServers = section(
  'mcpServers',
  'rebuild',
  z
    .record(
      z.string().regex(/^[\w.-]+$/u, { error: 'expected a name of letters, digits, ".", "-" and "_"' }),
      mcpServer,
    )
    .default({})
    .describe('MCP servers by name.'),
  {
    sensitive: true,
    forms: { own: ownForms, unread: unreadSwitches },
    inSafeMode: (servers) =>
      Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, { ...server, enabled: false }])),
  },
);

/** By this a later start finds what the servers of a home left running, if the assistant was killed. */
export function serversMark(home: string): string {
  return `mcp ${home}`;
}
