import type { ModelError, ModelEvent, ModelRequest, Provider } from '../../providers/provider.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';

/** How one call of a model ended, and the usage of all its attempts, failed ones included. */
interface Asked {
  readonly outcome: Extract<ModelEvent, { type: 'end' }> | ModelError;
  readonly usage: Usage;
}

/** Asks a model without showing its answer to anybody meanwhile. Never rejects. */
export async function askOnce(provider: Provider, request: ModelRequest, signal: AbortSignal): Promise<Asked> {
  let usage = noUsage;
  let attempt = noUsage;
  for await (const event of provider.chat(request, { signal })) {
    if (event.type === 'usage') attempt = event.usage;
    if (event.type === 'end') return { outcome: event, usage: addUsage(usage, event.response.usage ?? attempt) };
    if (event.type !== 'restart' && event.type !== 'error') continue;
    usage = addUsage(usage, attempt);
    attempt = noUsage;
    if (event.type === 'error') return { outcome: event, usage };
  }
  const message = `${provider.name} ended its answer without saying so.`;
  return { outcome: { type: 'error', kind: 'malformed', retryable: true, message }, usage };
}
