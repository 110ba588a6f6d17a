import { defineExtension } from '../../core/api.ts';

/** What the assistant knows for long: MEMORY.md in the prompt, and the tools that change and search it. docs/memory.md */
export default defineExtension({
  name: 'memory',
  bundledSkills: ['memory'],
  open: async (app) => (await import('./open.ts')).openMemory(app),
});
