import type { App, Contributions } from '../../core/api.ts';
import { createGuardedFetch } from '../../core/api-channels.ts';
import { createReader, PAGE_MARGIN } from '../../core/api-tools.ts';
import { searchApiKey, searchProvider, searchUrl } from './settings.ts';
import { webFetchTool } from './web-fetch.ts';
import { webSearchTool } from './web-search.ts';

export function openWeb(app: App): Contributions {
  const { clock, config, fetch } = app;
  const { allowHosts, denyHosts } = config.tools.web;
  const url = app.settingsOf(searchUrl);
  // The search server that the owner configured may be in a private network. Only the search tool may reach it there.
  const searchHosts = url === null ? [] : [hostAndPort(url)];
  return {
    tools: [
      webFetchTool({
        fetch,
        clock,
        read: app.once(createReader),
        maxChars: config.agent.toolResultChars - PAGE_MARGIN,
      }),
      webSearchTool({
        searchProvider: app.settingsOf(searchProvider),
        searchApiKey: app.settingsOf(searchApiKey),
        searchUrl: url,
        fetch: createGuardedFetch({ allowHosts: [...allowHosts, ...searchHosts], denyHosts, clock }),
      }),
    ],
  };
}

function hostAndPort(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}
