/**
 * Aborts when one of the given signals does, until it is disposed: whoever keeps on listening then (as the SDK does,
 * which would cancel requests that are long done) hears nothing any more.
 */
export function linked(...signals: readonly AbortSignal[]): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const listeners = signals.map((signal) => {
    const onAbort = (): void => controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    return { signal, onAbort };
  });
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const { signal, onAbort } of listeners) signal.removeEventListener('abort', onAbort);
    },
  };
}
