import { cut, oneLine } from '../util/text.ts';
import { asText, squash } from './fields.ts';
import type { AllowedTool } from './skill.ts';

/** Our tools by squashed name: their own names and those of other assistants. */
const TOOLS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    exec: ['exec', 'bash', 'shell', 'terminal', 'runcommand', 'runshellcommand'],
    process: ['process', 'bashoutput', 'killbash', 'killshell'],
    read_file: ['readfile', 'read'],
    write_file: ['writefile', 'write'],
    edit_file: ['editfile', 'edit', 'multiedit'],
    apply_patch: ['applypatch', 'multiedit'],
    list_dir: ['listdir', 'ls', 'listdirectory'],
    glob: ['glob'],
    grep: ['grep'],
    web_search: ['websearch'],
    web_fetch: ['webfetch', 'fetch'],
    message: ['message'],
    ask_user: ['askuser', 'askuserquestion'],
    spawn: ['spawn', 'task', 'agent'],
    cron: ['cron'],
    memory_search: ['memorysearch'],
    memory_write: ['memorywrite'],
    skill: ['skill'],
    tape: ['tape'],
    batch: ['batch'],
  }).reduce((byName, [tool, names]) => {
    for (const name of names) byName.set(name, [...(byName.get(name) ?? []), tool]);
    return byName;
  }, new Map<string, string[]>()),
);

const MOST_WARNINGS = 10;

/**
 * What a skill's `allowed-tools` allows here.
 *
 * null (no limit) where nothing is listed or `*` is. A list of which nothing has a counterpart here is an empty list
 * and allows nothing: its author meant a limit, and a limit that cannot be translated must not turn into none.
 * A limit inside of parentheses is kept for commands, where it must be the first words of a command (`Bash(git:*)`,
 * `Bash(git add *)`, `Bash(npm test)`), and dropped with a warning for other tools; a command pattern that begins with
 * or contains a wildcard cannot be kept and allows nothing.
 */
export function readAllowedTools(value: unknown): { allowed: readonly AllowedTool[] | null; warnings: string[] } {
  // Joined again, because YAML splits `[Bash(git add:*, git commit:*)]` at the comma.
  const text = Array.isArray(value) ? value.map((item) => asText(item) ?? '').join(', ') : (asText(value) ?? '');
  const items = splitTools(text);
  if (items.length === 0 || items.some((item) => item.name === '*')) return { allowed: null, warnings: [] };
  const allowed = new Map<string, AllowedTool>();
  const warnings = new Set<string>();
  for (const item of items) {
    const read = readTool(item);
    for (const tool of read.tools) allowed.set(JSON.stringify([tool.tool, tool.commandPrefix]), tool);
    for (const warning of read.warnings) if (warnings.size < MOST_WARNINGS) warnings.add(warning);
  }
  return { allowed: [...allowed.values()], warnings: [...warnings] };
}

interface Item {
  readonly name: string;
  /** What stands in its parentheses. */
  readonly limit?: string;
}

/** Splits at commas, semicolons and white space outside of parentheses; `Bash (git:*)` is one. */
function splitTools(text: string): Item[] {
  const items: Item[] = [];
  for (const match of text.matchAll(/(?<name>[^\s,;()]+)(?:\s*\((?<limit>[^()]*(?:\([^()]*\)[^()]*)*)\)?)?/gu)) {
    const { name = '', limit } = match.groups ?? {};
    const bare = name.replace(/^["']|["']$/gu, '');
    if (bare !== '') items.push({ name: bare, ...(limit === undefined ? {} : { limit }) });
  }
  return items;
}

function readTool(item: Item): { tools: readonly AllowedTool[]; warnings: readonly string[] } {
  const shown = oneLine(item.name, 40);
  const names = toolsNamed(item.name);
  if (names.length === 0) {
    return { tools: [], warnings: [`Its allowed tool ${shown} does not exist here and was ignored.`] };
  }
  const limit = item.limit?.trim() ?? '';
  if (limit === '' || limit === '*' || limit === ':*') return { tools: names.map((tool) => ({ tool })), warnings: [] };
  if (!names.includes('exec')) {
    const warning = `The limit in parentheses after its allowed tool ${shown} has no effect: all of ${names.join(', ')} is allowed.`;
    return { tools: names.map((tool) => ({ tool })), warnings: [warning] };
  }
  const tools: AllowedTool[] = [];
  const warnings: string[] = [];
  for (const pattern of limit.split(',')) {
    const words = cut(pattern.trim(), 200)
      .replace(/[\s:]*\*$/u, '')
      .replace(/\s+/gu, ' ');
    if (words === '' && pattern.trim() === '') continue;
    if (words === '' || words.includes('*')) {
      warnings.push(
        `Its allowed command ${oneLine(pattern, 60)} is not the beginning of a command, so it was ignored.`,
      );
    } else tools.push({ tool: 'exec', commandPrefix: words });
  }
  return { tools, warnings };
}

function toolsNamed(name: string): readonly string[] {
  const mcp = /^mcp__(?<server>.+?)__(?<tool>[\w.-]+)$/iu.exec(cut(name, 200))?.groups;
  if (mcp !== undefined) return [`mcp_${mcp['server']}_${mcp['tool']}`];
  if (/^mcp_[\w.-]+$/u.test(name) && !name.startsWith('mcp__')) return [name];
  return TOOLS.get(squash(name)) ?? [];
}
