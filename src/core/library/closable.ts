import type { Assistant } from './assistant.ts';

/** The same, which closes what the stack holds; each call waits for its end. `grace`: what turns get, which a call may change. */
export function closable<T extends object>(
  assistant: T,
  stack: AsyncDisposableStack,
  grace: { turnsMs: number },
): T & Pick<Assistant, 'close'> & AsyncDisposable {
  let closed: Promise<void> | undefined;
  const close: Assistant['close'] = ({ turnsMs = grace.turnsMs } = {}) => {
    grace.turnsMs = turnsMs;
    return (closed ??= stack.disposeAsync());
  };
  return Object.assign(assistant, { close, [Symbol.asyncDispose]: () => close() });
}
