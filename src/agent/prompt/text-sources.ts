import type { InboundMessage } from '../../bus/messages.ts';

/** Where untrusted text came from, in words for a person, by the tool that read it. */
const BY_TOOL: Readonly<Record<string, string>> = {
  web_fetch: 'a web page',
  web_search: 'a web search',
  read_file: 'a file that others helped to write',
  grep: 'a file that others helped to write',
  list_dir: 'file names that others chose',
  glob: 'file names that others chose',
  exec: 'the output of a command that may contain text by others',
  process: 'the output of a command that may contain text by others',
  memory_search: 'earlier text by others',
  skill: 'a skill by another author',
  spawn: 'what a subagent read',
};

/** Where the untrusted text of a tool's result came from; completes `this conversation contains text from …`. */
export function sourceOfResult(tool: string): string {
  return BY_TOOL[tool] ?? (tool.startsWith('mcp_') ? 'an MCP server' : 'an outside source');
}

/** The same for a message. `quoted`: it replies to another person's text; `hasFile`: it has an attached file. */
export function sourceOfMessage(
  { origin, untrusted, shared, role, context, action }: InboundMessage,
  { quoted, hasFile }: { readonly quoted: boolean; readonly hasFile: boolean },
): string {
  if (origin === 'subagent') return 'what a subagent read';
  if (origin !== 'user') return 'an outside source';
  if (untrusted || shared !== undefined) return 'a forwarded message';
  if (quoted) return 'a quoted message';
  if (role === 'guest') return 'a guest';
  if (context.some(({ isOwners }) => isOwners !== true)) return 'earlier messages in this group';
  if (hasFile) return 'a file that was sent';
  return action === undefined ? 'an outside source' : 'an outside source that led to this button';
}
