import { defineExtension } from '../../core/api.ts';

/** The tools that read, search and change files: `read_file`, `list_dir`, `glob`, `grep`, `write_file`, `edit_file`, `apply_patch`. */
export default defineExtension({
  name: 'files',
  open: async (app) => (await import('./open.ts')).openFiles(app),
});
