import { defineExtension } from '../../core/api.ts';

/** The tools `exec` and `process` run commands and look after those in the background. docs/tools.md, docs/security.md */
export default defineExtension({
  name: 'exec',
  open: async (app) => await (await import('./open.ts')).openExec(app),
});
