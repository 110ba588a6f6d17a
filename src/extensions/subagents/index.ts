import { defineExtension } from '../../core/api.ts';
import { maxSubagents } from './settings.ts';

/** The tool `spawn` gives tasks to subagents. What the turn of a task may do, and who gets its result, is the core's. docs/subagents.md */
export default defineExtension({
  name: 'subagents',
  settings: [maxSubagents],
  open: async (app) => (await import('./open.ts')).openSubagents(app),
});
