import type { Permit } from '../util/permit.ts';

/** What sends requests for Node's `fetch` and for undici, as far as it is used here. */
interface Dispatcher {
  dispatch(options: unknown, handler: object): boolean;
}

/** Under this name all copies of undici in a process, Node's own among them, find the common one. */
const COMMON = Symbol.for('undici.globalDispatcher.1');
/** Called in the very moment before the head of a request is written to its connection; what they throw fails the request. */
const BEFORE_WRITING = new Set<PropertyKey>(['onConnect', 'onRequestStart']);

/**
 * Sends what Node's `fetch` or undici sends, with a last look at the permit when the connection stands and nothing is written
 * yet: a look before the call would leave the time that connecting takes.
 */
export function permittedRequests({ check }: Pick<Permit, 'check'>): Dispatcher {
  return {
    dispatch: (options, handler) => {
      check();
      const looking = new Proxy(handler, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target);
          if (typeof value !== 'function') return value;
          return (...args: readonly unknown[]): unknown => {
            if (BEFORE_WRITING.has(key)) check();
            return Reflect.apply(value, target, args);
          };
        },
      });
      return common().dispatch(options, looking);
    },
  };
}

function common(): Dispatcher {
  const found: unknown = Reflect.get(globalThis, COMMON);
  if (!isDispatcher(found)) throw new Error('undici has no common dispatcher');
  return found;
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === 'object' && value !== null && 'dispatch' in value && typeof value.dispatch === 'function';
}
