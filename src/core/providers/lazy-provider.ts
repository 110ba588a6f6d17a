import { isLocalAddress, type EndpointOptions } from './endpoint.ts';
import type { Provider } from './provider.ts';

/** A provider whose adapter is loaded by its first call, or when it is warmed. */
export function lazyProvider({ name, baseUrl }: EndpointOptions, load: () => Promise<Provider>): Provider {
  let loading: Promise<Provider> | undefined;
  const adapter = (): Promise<Provider> =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
  return {
    name,
    local: isLocalAddress(baseUrl),
    async *chat(request, options) {
      yield* (await adapter()).chat(request, options);
    },
    warm: async () => await (await adapter()).warm?.(),
    body: async (request) => (await (await adapter()).body?.(request)) ?? null,
  };
}
