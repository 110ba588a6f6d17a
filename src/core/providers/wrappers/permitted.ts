import type { Permit } from '../../util/permit.ts';
import type { ModelEvent, ModelRequest, Provider } from '../provider.ts';

/** Waits before each call until it is permitted, so that a home that another gateway may run spends nothing here. */
export function withPermit(provider: Provider, permit: Pick<Permit, 'granted'> | undefined): Provider {
  if (permit === undefined) return provider;
  return {
    name: provider.name,
    ...(provider.local === undefined ? {} : { local: provider.local }),
    chat: (request, { signal }) => chatWhenPermitted(provider, permit, { request, signal }),
    warm: async () => provider.warm?.(),
  };
}

async function* chatWhenPermitted(
  provider: Provider,
  { granted }: Pick<Permit, 'granted'>,
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent> {
  try {
    await granted(signal);
  } catch {
    yield { type: 'error', kind: 'aborted', retryable: false, message: `The call to ${provider.name} was stopped.` };
    return;
  }
  yield* provider.chat(request, { signal });
}
