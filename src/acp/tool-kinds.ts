import type { ToolKind } from '@agentclientprotocol/sdk';

const KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: 'read',
  list_dir: 'read',
  write_file: 'edit',
  edit_file: 'edit',
  apply_patch: 'edit',
  glob: 'search',
  grep: 'search',
  memory_search: 'search',
  web_search: 'search',
  web_fetch: 'fetch',
  exec: 'execute',
  process: 'execute',
};

/** What kind of thing a tool does, as editors show it. */
export function kindOf(tool: string): ToolKind {
  return Object.hasOwn(KINDS, tool) ? (KINDS[tool] ?? 'other') : 'other';
}
