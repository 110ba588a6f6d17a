import { defineExtension } from '../../core/api.ts';
import { heartbeat } from './settings.ts';
import { tables } from './tables.ts';

/** Looks after the open tasks in HEARTBEAT.md by itself. docs/heartbeat.md */
export default defineExtension({
  name: 'heartbeat',
  settings: [heartbeat],
  tables,
  origins: [{ name: 'heartbeat', isReport: true }],
  checks: async () => (await import('./checks.ts')).checks,
  open: async (app) => (await import('./open.ts')).openHeartbeat(app),
});
