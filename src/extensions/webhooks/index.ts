import { defineExtension } from '../../core/api.ts';
import { hooks } from './settings.ts';

/** `POST /hooks/<name>`: whoever knows the secret of a webhook starts a turn. docs/webhooks.md */
export default defineExtension({
  name: 'webhooks',
  settings: [hooks],
  origins: [{ name: 'hook', isAsked: true, isByPeople: true, countsAs: 'api' }],
  open: async (app) => ({ routes: [(await import('./route.ts')).hookRoute(app)] }),
});
