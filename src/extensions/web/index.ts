import { defineExtension } from '../../core/api.ts';
import { searchApiKey, searchProvider, searchUrl } from './settings.ts';

/** The tools `web_fetch` and `web_search`. Which hosts may be reached is the core's, `tools.web.allowHosts` and `denyHosts`. */
export default defineExtension({
  name: 'web',
  settings: [searchProvider, searchApiKey, searchUrl],
  open: async (app) => (await import('./open.ts')).openWeb(app),
});
