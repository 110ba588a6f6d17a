import type { ModelEvent } from '../providers/provider.ts';
import type { ChosenModel } from './turn-context.ts';

/** Stands for a model that cannot be called: it answers with the reason, so that the person reads it. */
export function unusableModel(ref: string, reason: string): ChosenModel {
  const slash = ref.indexOf('/');
  const providerName = slash === -1 ? ref : ref.slice(0, slash);
  return {
    providerName,
    model: slash === -1 ? '' : ref.slice(slash + 1),
    provider: {
      name: providerName,
      async *chat(): AsyncGenerator<ModelEvent> {
        yield { type: 'error', kind: 'bad-request', retryable: false, message: reason };
      },
    },
  };
}
