import type { InboundMessage } from '../../bus/messages.ts';

/** What a person is told that text of others came from, by the tool that brought it. */
const BY_TOOL: Readonly<Record<string, string>> = {
  web_fetch: 'a web page',
  web_search: 'a web search',
  read_file: 'a file that others had a part in',
  grep: 'a file that others had a part in',
  list_dir: 'file names that others chose',
  glob: 'file names that others chose',
  exec: 'the output of a command that may hold words of others',
  process: 'the output of a command that may hold words of others',
  memory_search: 'earlier words of others',
  skill: 'a skill by another author',
  spawn: 'what a subagent read',
};

/** Where the text of others in a result came from: the rest of `this conversation contains text from …`. */
export function sourceOfResult(tool: string): string {
  return BY_TOOL[tool] ?? (tool.startsWith('mcp_') ? 'an MCP server' : 'outside');
}

/** The same for a message. `quoted`: it answers words of somebody else; `hasFile`: one came with it. */
export function sourceOfMessage(
  { origin, untrusted, role, context, action }: InboundMessage,
  { quoted, hasFile }: { readonly quoted: boolean; readonly hasFile: boolean },
): string {
  if (origin === 'subagent') return 'what a subagent read';
  if (origin !== 'user') return 'outside';
  if (untrusted) return 'a forwarded message';
  if (quoted) return 'a quoted message';
  if (role === 'guest') return 'a guest';
  if (context.some(({ isOwners }) => isOwners !== true)) return 'earlier messages in this group';
  if (hasFile) return 'a file that was sent';
  return action === undefined ? 'outside' : 'outside that led to this button';
}
