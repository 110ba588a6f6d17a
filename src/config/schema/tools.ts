import * as z from 'zod';
import { count, flag, httpUrl, optionalText, optionalUrl, takes, text, textMap, texts } from './values.ts';

const exec = z
  .object({
    mode: z
      .enum(['off', 'ask', 'auto', 'full'])
      .default('auto')
      .describe(
        'Commands: never, after asking, in the sandbox without asking (elsewhere after asking), without sandbox and questions.',
      ),
    sandbox: z
      .enum(['auto', 'bubblewrap', 'off'])
      .default('auto')
      .describe('What encloses commands; `auto`: the best that works.'),
    network: flag(false, 'Whether commands in the sandbox reach the network.'),
    timeoutSeconds: count(120, 1, 'After so many seconds a command is ended.'),
    maxConcurrent: count(4, 1, 'Commands at once.'),
    allowEnv: texts('Names of environment variables that commands may see.'),
    allowCommands: texts('Exact commands, with absolute paths, that run without a question.'),
  })
  .prefault({})
  .describe('Running commands.');

const web = z
  .object({
    searchProvider: z
      .enum(['auto', 'brave', 'tavily', 'serper', 'exa', 'searxng', 'duckduckgo'])
      .default('auto')
      .describe('Which web search is used; `auto`: the first that has a key in the environment, else DuckDuckGo.'),
    searchApiKey: optionalText('Its key.'),
    searchUrl: optionalUrl('Its address, for a SearXNG of your own; its host may be private.'),
    allowHosts: texts(
      'Hosts that may be fetched without a question, also when private text is in play; also opens private hosts; `example.com`, `*.example.com`, each also with `:port`.',
    ),
    denyHosts: texts('Hosts that are never fetched; written in the same way, `*` is every host.'),
  })
  .prefault({})
  .describe('Search and pages on the web.');

export const toolsSchema = z
  .object({
    allow: takes('live', texts('Tools that exist; `*` is any part of a name.', ['*'])),
    deny: takes('live', texts('Tools that do not; wins over `allow`.')),
    guest: takes('live', texts('Tools that guests may use.', ['web_search', 'web_fetch'])),
    restrictToWorkspace: flag(true, 'Whether file tools stay inside the workspace and `readRoots`.'),
    readRoots: texts('Folders outside the workspace that file tools may read.'),
    exec,
    web,
  })
  .prefault({})
  .describe('What it can do, and who may let it.');

const mcpServer = z
  .object({
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'sse'], {
        error: 'expected "stdio", "http", "streamable-http" or "sse"',
      })
      .nullable()
      .default(null)
      .describe('How it is spoken to; null: as `command` or `url` say, streamable HTTP before SSE.'),
    command: text().optional().describe('Program of a local server.'),
    args: z.array(z.string()).default([]).describe('Its arguments.'),
    env: textMap('Its environment, beside `PATH`, `HOME` and the like.'),
    cwd: optionalText('The folder it starts in; null: the workspace.'),
    url: httpUrl().optional().describe('Address of a remote server, instead of `command`; its host may be private.'),
    headers: textMap('Headers for it.'),
    enabled: flag(true, 'Whether it is used.'),
    tools: texts('Which of its tools are offered; `*` is any part of a name.', ['*']),
    role: z.enum(['owner', 'trusted']).default('owner').describe('The least role that may call its tools.'),
    trusted: flag(false, 'Whether its word counts that a tool only reads: such calls run side by side.'),
    timeouts: z
      .object({
        startSeconds: count(60, 1, 'How long it may take to start and to list its tools.'),
        callSeconds: count(120, 1, 'How long a call may take.'),
      })
      .prefault({})
      .describe('Deadlines.'),
  })
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    error: 'expected either "command" or "url"',
  })
  .refine(({ type, command }) => type === null || (type === 'stdio') === (command !== undefined), {
    path: ['type'],
    error: 'expected "stdio" with "command", or "http" or "sse" with "url"',
  })
  .describe('One MCP server.');

export const mcpServersSchema = z
  .record(z.string().regex(/^[\w.-]+$/u, { error: 'expected a name of letters, digits, ".", "-" and "_"' }), mcpServer)
  .default({})
  .describe('MCP servers by name.');

export type McpServerSettings = z.output<typeof mcpServer>;

export const skillsSchema = z
  .object({
    disabled: texts('Names of skills that are left out.'),
    entries: z
      .record(
        z.string(),
        z
          .object({
            enabled: flag(true, 'Whether it is used.'),
            trusted: flag(
              false,
              'Whether its text counts as the words of the owner, like that of the skills that come along.',
            ),
            env: textMap('Variables for its commands.'),
          })
          .describe('Settings of one skill.'),
      )
      .default({})
      .describe('Settings by skill.'),
  })
  .prefault({})
  .describe('Skills.');

export const memorySchema = z
  .object({
    consolidateAt: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe(
        'Share of the context window that a conversation may take before older talk is summed up; earlier where the prompt and the tools leave less room.',
      ),
    searchResults: count(6, 1, 'Results of one search in memory.', 50),
  })
  .prefault({})
  .describe('Memory.');
