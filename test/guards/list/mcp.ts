import { guardsIn, type Guard } from '../guard.ts';

/** What foreign servers of tools may do. */
export const MCP_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'tools/mcp/tools.ts',
    ['mcp/trust-store.test.ts'],
    [
      {
        name: 'mcp-role',
        holds: 'The tools of a server are for the role that the owner gave them.',
        find: "effect: trusted && onlyReads ? 'none' : 'effect',\n    role,",
        replace: "effect: trusted && onlyReads ? 'none' : 'effect',\n    role: role === 'owner' ? 'trusted' : role,",
        tests: ['mcp/client-pool-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/mcp/trust-store.ts',
    ['mcp/trust-store.test.ts'],
    [
      {
        name: 'mcp-damaged',
        holds: 'A damaged file of agreements counts as no agreement.',
        find: 'const nothing = Object.entries(options.identities).map(',
        replace: 'const nothing = Object.entries<string>({}).map(',
      },
    ],
  ),
  ...guardsIn(
    'tools/mcp/schemas.ts',
    ['mcp/names.test.ts'],
    [
      {
        name: 'mcp-visible-descriptions',
        holds: 'Nothing in the description of a tool is there for the model alone.',
        find: 'const { text: clean } = withoutInvisible(text);',
        replace: 'const clean = text;',
      },
      {
        name: 'mcp-visible-schemas',
        holds: 'Nothing in the schema of a tool is there for the model alone.',
        find: "typeof value === 'string' ? withoutInvisible(value).text : value",
        replace: 'value',
      },
    ],
  ),
  ...guardsIn(
    'tools/mcp/connect.ts',
    ['mcp/broken-servers.test.ts'],
    [
      {
        name: 'mcp-environment',
        holds: 'A local server sees nothing of the environment but what is named for it.',
        find: 'env: { ...options.environment, ...settings.env },',
        replace: 'env: { ...(process.env as Record<string, string>), ...settings.env },',
        tests: ['mcp/local-servers.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'tools/mcp/stdio.ts',
    ['mcp/local-servers.test.ts'],
    [
      {
        name: 'mcp-ended',
        holds: 'Nothing that a local server started outlives it.',
        find: 'await this.#tree.end(clock, TERM_GRACE_MS);',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/fetch/stream-fetch.ts',
    ['security/stream-fetch.test.ts'],
    [
      {
        name: 'stream-opened',
        holds: 'Of the private network only what is opened by name is reached.',
        find: "readHostList('allowHosts', options.allowHosts)",
        replace: "readHostList('allowHosts', ['127.0.0.1'])",
      },
    ],
  ),
];
