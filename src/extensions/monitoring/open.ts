import type { App, Contributions } from '../../core/api.ts';
import { Metrics } from './metrics.ts';

/** Counts where HTTP is served, and sends traces where the environment asks for them. */
export async function openMonitoring(app: App): Promise<Contributions> {
  const { env, log } = app;
  if (!app.servesHttp) return {};
  const stack = new AsyncDisposableStack();
  const metrics = stack.use(new Metrics(app));
  if (Object.keys(env).some((name) => name.startsWith('OTEL_EXPORTER_OTLP_'))) {
    const { Traces, traceTarget } = await import('./traces.ts');
    const target = traceTarget(env, log);
    if (target !== null) stack.use(new Traces(app, target));
  }
  return {
    routes: [
      {
        method: 'GET',
        path: '/metrics',
        handle: async () => {
          const { metricsText } = await import('./metrics-text.ts');
          const { text, type } = await metricsText(await metrics.look());
          return new Response(text, { headers: { 'Content-Type': type } });
        },
      },
    ],
    close: () => stack.disposeAsync(),
  };
}
