import type { App } from '../app.ts';
import { errorMessage } from '../util/errors.ts';
import type { Agent } from '../assistant/agent.ts';

/** Loads what the first message needs. Never throws; a failure is logged, because the message itself tries again. */
export function preload({ models, log, closing }: App, agent: Pick<Agent, 'warm'>): void {
  const { provider, providerName, model } = models.standard;
  Promise.all([provider.warm?.(), agent.warm({ provider: providerName, model })]).catch((error: unknown) => {
    if (closing.aborted) return;
    log.warn('start: preloading for the first message failed', { reason: errorMessage(error) });
  });
}
