/** Names of tools in other programs, which models call by habit → our name. */
const ALIASES: Readonly<Record<string, string>> = {
  read: 'read_file',
  write: 'write_file',
  edit: 'edit_file',
  multiedit: 'apply_patch',
  ls: 'list_dir',
  list_directory: 'list_dir',
  bash: 'exec',
  shell: 'exec',
  run_command: 'exec',
  glob: 'glob',
  grep: 'grep',
  websearch: 'web_search',
  webfetch: 'web_fetch',
  fetch: 'web_fetch',
  task: 'spawn',
  'fs.read': 'read_file',
  'fs.write': 'write_file',
  'fs.edit': 'edit_file',
  'fs.list': 'list_dir',
};

/** Our name of a tool that a model calls by the name it has in other programs; another name as it is. */
export function ownName(name: string): string {
  return ALIASES[name.toLowerCase()] ?? name;
}
