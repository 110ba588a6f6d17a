import type { Environment } from './environment.ts';
import type { Program } from '../program.ts';

/** Which variables fill which settings of an entry; the first is the one that enables it. */
interface UsualEntry {
  readonly section: 'providers' | 'channels';
  readonly name: string;
  readonly keys: Readonly<Record<string, string>>;
}

function entriesOf({ presets, kinds }: Program): readonly UsualEntry[] {
  const providers = [...presets].flatMap(([name, { keyVariable: apiKey, baseUrlVariable: baseUrl }]): UsualEntry[] =>
    apiKey === null
      ? []
      : [{ section: 'providers', name, keys: { apiKey, ...(baseUrl === undefined ? {} : { baseUrl }) } }],
  );
  return [
    ...providers,
    ...kinds.map(({ kind, variables }): UsualEntry => ({ section: 'channels', name: kind, keys: variables })),
  ];
}

/** The usual variable that fills this setting where nothing else does; undefined: none. */
export function usualVariable(program: Program, path: readonly string[]): string | undefined {
  const [section, name, key = ''] = path;
  return entriesOf(program).find((entry) => entry.section === section && entry.name === name)?.keys[key];
}

/** The variables of web searches, in the order in which `auto` takes the first that is set. */
const SEARCHES: readonly {
  readonly name: string;
  readonly variable: string;
  readonly key: 'searchApiKey' | 'searchUrl';
}[] = [
  { name: 'brave', variable: 'BRAVE_API_KEY', key: 'searchApiKey' },
  { name: 'tavily', variable: 'TAVILY_API_KEY', key: 'searchApiKey' },
  { name: 'serper', variable: 'SERPER_API_KEY', key: 'searchApiKey' },
  { name: 'exa', variable: 'EXA_API_KEY', key: 'searchApiKey' },
  { name: 'searxng', variable: 'SEARXNG_URL', key: 'searchUrl' },
];

/** Whether a variable is for the main assistant of a process alone: its settings, and the keys of its channels and searches. */
export function isVariableOfMain({ kinds }: Program, variable: string): boolean {
  if (variable.startsWith('ASSISTANT_')) return variable !== 'ASSISTANT_COMMAND';
  const channels = kinds.flatMap(({ variables }) => Object.values(variables));
  return channels.includes(variable) || SEARCHES.some((search) => search.variable === variable);
}

type Settings = Readonly<Record<string, unknown>>;

/** Settings, and the variables that some of them are from. */
interface Filled {
  readonly settings: Settings;
  readonly variables: readonly string[];
}

/**
 * The settings with what the environment adds: a key in the environment enables its provider, channel or web search
 * without an entry. What the file says wins.
 */
export function withEnvironment(program: Program, raw: Settings, env: Environment): Filled {
  let settings = raw;
  const variables: string[] = [];
  for (const { section, name, keys } of entriesOf(program)) {
    const entries = settings[section] ?? {};
    if (!isSettings(entries)) continue;
    const entry = entries[name];
    const [enabling] = Object.values(keys);
    if (entry === undefined && (enabling === undefined || env[enabling] === undefined) && !hasAddress(keys, env))
      continue;
    if (entry !== undefined && !isSettings(entry)) continue;
    const added = Object.entries(keys).flatMap(([key, variable]) => {
      const value = env[variable];
      if (value === undefined || (entry !== undefined && Object.hasOwn(entry, key))) return [];
      variables.push(variable);
      return [[key, key === 'allowFrom' ? list(value) : value] as const];
    });
    if (entry !== undefined && added.length === 0) continue;
    settings = { ...settings, [section]: { ...entries, [name]: { ...entry, ...Object.fromEntries(added) } } };
  }
  const searching = withSearch(settings, env);
  return { settings: searching.settings, variables: [...variables, ...searching.variables] };
}

/** The key or address of the web search that is wanted, or of the first that has one where any will do. */
function withSearch(settings: Settings, env: Environment): Filled {
  const asTheyAre = { settings, variables: [] };
  const tools = settings['tools'] ?? {};
  const web = isSettings(tools) ? (tools['web'] ?? {}) : undefined;
  if (!isSettings(tools) || !isSettings(web)) return asTheyAre;
  const wanted = web['searchProvider'] ?? 'auto';
  // Who wrote a key or an address meant that one.
  if (wanted === 'auto' && ((web['searchApiKey'] ?? null) !== null || (web['searchUrl'] ?? null) !== null)) {
    return asTheyAre;
  }
  const search = SEARCHES.find(
    ({ name, variable }) => (wanted === 'auto' || wanted === name) && (env[variable] ?? '') !== '',
  );
  if (search === undefined || (web[search.key] ?? null) !== null) return asTheyAre;
  const added = { searchProvider: search.name, [search.key]: env[search.variable] };
  return { settings: { ...settings, tools: { ...tools, web: { ...web, ...added } } }, variables: [search.variable] };
}

/** `over` wins; objects are merged key by key. */
export function mergeSettings(under: Settings, over: Settings): Settings {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isSettings(before) && isSettings(value) ? mergeSettings(before, value) : value;
  }
  return merged;
}

function hasAddress(keys: Readonly<Record<string, string>>, env: Environment): boolean {
  const variable = keys['baseUrl'];
  return variable !== undefined && env[variable] !== undefined;
}

function isSettings(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
