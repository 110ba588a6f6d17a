import { defineExtension } from '../../core/api.ts';

/** `GET /metrics` in the text format of Prometheus, and traces of turns over OTLP. docs/monitoring.md */
export default defineExtension({
  name: 'monitoring',
  open: async (app) => (await import('./open.ts')).openMonitoring(app),
});
