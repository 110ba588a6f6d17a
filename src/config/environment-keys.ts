import type { Environment } from './environment.ts';

/** The usual variables of the providers' keys; the providers have the same in their table. */
const PROVIDER_KEYS = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  openrouter: 'OPENROUTER_API_KEY',
  gemini: 'GEMINI_API_KEY',
  groq: 'GROQ_API_KEY',
  deepseek: 'DEEPSEEK_API_KEY',
  mistral: 'MISTRAL_API_KEY',
  moonshot: 'MOONSHOT_API_KEY',
  xai: 'XAI_API_KEY',
  zhipu: 'ZHIPUAI_API_KEY',
  dashscope: 'DASHSCOPE_API_KEY',
  minimax: 'MINIMAX_API_KEY',
  siliconflow: 'SILICONFLOW_API_KEY',
  together: 'TOGETHER_API_KEY',
  'azure-openai': 'AZURE_OPENAI_API_KEY',
};

/** Names of providers that a variable of the environment enables. */
export const USUAL_PROVIDERS: readonly string[] = Object.keys(PROVIDER_KEYS);

/** The variable that fills `providers.NAME.apiKey`; undefined for names that none fills. */
export function usualKeyVariable(provider: string): string | undefined {
  return Object.entries(PROVIDER_KEYS).find(([name]) => name === provider)?.[1];
}

const BASE_URLS: Readonly<Record<string, string>> = { anthropic: 'ANTHROPIC_BASE_URL', openai: 'OPENAI_BASE_URL' };

/** Which variables fill which settings of which entry; the first is the one that enables it. */
const ENTRIES: readonly {
  readonly section: 'providers' | 'channels';
  readonly name: string;
  readonly keys: Readonly<Record<string, string>>;
}[] = [
  ...Object.entries(PROVIDER_KEYS).map(([name, apiKey]) => {
    const baseUrl = BASE_URLS[name];
    return { section: 'providers' as const, name, keys: { apiKey, ...(baseUrl === undefined ? {} : { baseUrl }) } };
  }),
  { section: 'channels', name: 'telegram', keys: { token: 'TELEGRAM_BOT_TOKEN', allowFrom: 'TELEGRAM_ALLOW_FROM' } },
  { section: 'channels', name: 'discord', keys: { token: 'DISCORD_BOT_TOKEN', allowFrom: 'DISCORD_ALLOW_FROM' } },
  {
    section: 'channels',
    name: 'slack',
    keys: { botToken: 'SLACK_BOT_TOKEN', appToken: 'SLACK_APP_TOKEN', allowFrom: 'SLACK_ALLOW_FROM' },
  },
];

/** The usual variable that fills this setting where nothing else does; undefined: none. */
export function usualVariable(path: readonly string[]): string | undefined {
  const [section, name, key = ''] = path;
  return ENTRIES.find((entry) => entry.section === section && entry.name === name)?.keys[key];
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
export function isVariableOfMain(variable: string): boolean {
  if (variable.startsWith('ASSISTANT_')) return variable !== 'ASSISTANT_COMMAND';
  const channels = ENTRIES.filter(({ section }) => section === 'channels').flatMap(({ keys }) => Object.values(keys));
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
export function withEnvironment(raw: Settings, env: Environment): Filled {
  let settings = raw;
  const variables: string[] = [];
  for (const { section, name, keys } of ENTRIES) {
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
