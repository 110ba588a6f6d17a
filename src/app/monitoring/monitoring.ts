import type { HookRunner } from '../../agent/hooks/hooks.ts';
import type { MetricFacts } from '../../gateway/metrics.ts';
import type { HealthFacts } from '../../gateway/operations/health.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { ToolRegistry } from '../../tools/registry/registry.ts';
import type { Base } from '../base.ts';
import { Metrics } from './metrics.ts';

export interface MonitoringParts {
  readonly hooks: HookRunner;
  readonly journal: Journal;
  readonly sessions: Sessions;
  readonly registry: Pick<ToolRegistry, 'named'>;
  readonly health: () => Promise<HealthFacts>;
}

/** Starts to count, and to send traces where the environment asks for them; returns what `GET /metrics` tells. */
export async function startMonitoring(
  { env, version, clock, log, stored }: Base,
  { hooks, journal, sessions, registry, health }: MonitoringParts,
  stack: AsyncDisposableStack,
): Promise<() => Promise<MetricFacts>> {
  const toolNamed = (name: string): string | undefined => registry.named(name)?.name;
  const metrics = stack.use(new Metrics({ hooks, journal, toolNamed, health, store: stored.facts, clock }));
  if (Object.keys(env).some((name) => name.startsWith('OTEL_EXPORTER_OTLP_'))) {
    const { Traces, traceTarget } = await import('./traces.ts');
    const target = traceTarget(env, log);
    if (target !== null) stack.use(new Traces({ target, hooks, sessions, version, clock, log }));
  }
  return () => metrics.look();
}
