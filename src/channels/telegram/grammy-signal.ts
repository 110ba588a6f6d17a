import type { Api } from 'grammy/web';

export type GrammySignal = NonNullable<Parameters<Api['raw']['getMe']>[0]>;

/** `grammy/web` uses the native signal; its types are those of a polyfill. */
export function forGrammy(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal;
}
