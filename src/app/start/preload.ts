import type { ChosenModel } from '../../agent/turn/current-turn.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Agent } from '../agent.ts';

/** Loads what the first message needs. Never throws; a failure is logged, because the message itself tries again. */
export function preload(
  agent: Pick<Agent, 'warm'>,
  { provider, providerName, model }: ChosenModel,
  { log, closing }: { readonly log: Logger; readonly closing: AbortSignal },
): void {
  Promise.all([provider.warm?.(), agent.warm({ provider: providerName, model })]).catch((error: unknown) => {
    if (closing.aborted) return;
    log.warn('start: preloading for the first message failed', { reason: errorMessage(error) });
  });
}
