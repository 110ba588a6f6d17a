import type { Clock } from '../util/clock.ts';
import type { Provider } from './provider.ts';
import { checkedEvents } from './wrappers/checked.ts';
import { withTextCalls } from './wrappers/text-calls.ts';

/** A kind of provider that a plugin brings. */
export interface PluggedProvider {
  /** The name of the plugin. */
  readonly owner: string;
  readonly open: (
    name: string,
    settings: Readonly<Record<string, unknown>>,
  ) => Pick<Provider, 'chat'> | Promise<Pick<Provider, 'chat'>>;
}

/** Kinds of providers from plugins, by name. */
export type PluggedProviders = Readonly<Record<string, PluggedProvider>>;

/** An entry of `config.providers`, which only the plugin reads further. */
interface Entry {
  readonly timeouts?: {
    readonly firstByteSeconds?: number | null | undefined;
    readonly idleSeconds?: number | null | undefined;
  };
}

/** A provider that says nothing for this long has failed, ms. */
const IDLE_MS = 300_000;

/** The provider of one entry, opened at its first call and held to the contract. */
export function openPlugged(
  name: string,
  { owner, open }: PluggedProvider,
  { config, apiKey, clock }: { readonly config: Entry; readonly apiKey: string | null; readonly clock: Clock },
): Provider {
  let opened: Promise<Pick<Provider, 'chat'>> | undefined;
  const provider = async (): Promise<Pick<Provider, 'chat'>> => {
    opened ??= (async () => await open(name, { ...config, ...(apiKey === null ? {} : { apiKey }) }))();
    try {
      return await opened;
    } catch (error) {
      opened = undefined;
      throw error;
    }
  };
  const { firstByteSeconds, idleSeconds } = config.timeouts ?? {};
  const seconds = Math.max(firstByteSeconds ?? 0, idleSeconds ?? 0);
  const patience = { clock, idleMs: seconds > 0 ? seconds * 1_000 : IDLE_MS };
  return {
    name,
    async *chat(request, { signal }) {
      const { model, reasoning = 'off' } = request;
      yield { type: 'request', provider: name, model, body: null, bytes: 0, reasoning };
      const who = `The provider ${JSON.stringify(name)} of the plugin ${JSON.stringify(owner)}`;
      const events = checkedEvents(async () => (await provider()).chat(request, { signal }), { who, signal, patience });
      yield* withTextCalls(events, request);
    },
  };
}
