import { optionalText, section, z } from '../../core/api.ts';
import { optionalUrl } from '../../core/api-vendors.ts';

const PROVIDERS = ['auto', 'brave', 'tavily', 'serper', 'exa', 'searxng', 'duckduckgo'] as const;
export type SearchProviderName = Exclude<(typeof PROVIDERS)[number], 'auto'>;

const ABOUT = 'The web search that is used; `auto`: the first one with a key in the environment, otherwise DuckDuckGo.';

export const searchProvider = section(
  'tools.web.searchProvider',
  'restart',
  z.enum(PROVIDERS).default('auto').describe(ABOUT),
);
export const searchApiKey = section('tools.web.searchApiKey', 'restart', optionalText('Its API key.'));
export const searchUrl = section(
  'tools.web.searchUrl',
  'restart',
  optionalUrl('Address of your own SearXNG server; its host may be private.'),
);
