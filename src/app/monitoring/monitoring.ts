import type { App } from '../../core/app.ts';
import type { MetricFacts } from '../../gateway/metrics.ts';
import { Metrics } from './metrics.ts';

/** Starts to count, and to send traces where the environment asks for them; returns what `GET /metrics` tells. */
export async function startMonitoring(app: App, stack: AsyncDisposableStack): Promise<() => Promise<MetricFacts>> {
  const { env, log } = app;
  const metrics = stack.use(new Metrics(app));
  if (Object.keys(env).some((name) => name.startsWith('OTEL_EXPORTER_OTLP_'))) {
    const { Traces, traceTarget } = await import('./traces.ts');
    const target = traceTarget(env, log);
    if (target !== null) stack.use(new Traces(app, target));
  }
  return () => metrics.look();
}
