import type { Channel } from './channel.ts';

/** The same channel with these functions in the place of its own; what it does not have it does not get. */
export function channelWith(channel: Channel, functions: object): Channel {
  // What a frozen object has could not be replaced.
  const empty: Channel = Object.create(channel);
  return new Proxy(empty, {
    get: (_empty, key) => {
      const own: unknown = Reflect.get(channel, key, channel);
      if (typeof own !== 'function') return own;
      return (
        Reflect.get(functions, key) ?? ((...args: readonly unknown[]): unknown => Reflect.apply(own, channel, args))
      );
    },
  });
}
