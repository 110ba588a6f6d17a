import { connect, type Socket } from 'node:net';

/** Public names, each with the port of the server on this machine that stands for it. */
const hosts = new Map<string, { readonly address: string; readonly port: number }>();

/** A public host of the tests: an address that everybody may be sent to, and behind it a server on this machine. */
export function publishHost(name: string, port: number, address = `93.184.216.${hosts.size + 10}`): Disposable {
  hosts.set(name, { address, port });
  return { [Symbol.dispose]: () => void hosts.delete(name) };
}

/** Names that lead to this machine from the second time on that they are asked for. */
const turning = new Map<string, number>();

/** A name whose owner lets it lead to this machine, once it was looked up: DNS rebinding. It is public before. */
export function turningHost(name: string, port: number): Disposable {
  const published = publishHost(name, port);
  turning.set(name, 0);
  return {
    [Symbol.dispose]: () => {
      turning.delete(name);
      published[Symbol.dispose]();
    },
  };
}

/** It is public again, for the next time. */
export function turnBack(name: string): void {
  turning.set(name, 0);
}

/** Every name that was looked up. */
export const lookedUp: string[] = [];

/** Instead of the system's resolver: no name outside the tests is ever asked for. */
export async function resolveHost(name: string): Promise<readonly string[]> {
  lookedUp.push(name);
  // Names below a public one are its own.
  const found = [...hosts].find(([host]) => name === host || name.endsWith(`.${host}`))?.[1];
  if (found === undefined) throw Object.assign(new Error(`no test knows ${name}`), { code: 'ENOTFOUND' });
  const asked = turning.get(name);
  if (asked !== undefined) turning.set(name, asked + 1);
  if (asked !== undefined && asked > 0) return ['127.0.0.1'];
  return [found.address];
}

/** Instead of TCP to an address: a connection to the server that stands for it. */
export function dialHost({
  addresses,
  port,
}: {
  readonly addresses: readonly string[];
  readonly port: number;
}): Socket {
  const found = [...hosts.values()].find(({ address }) => addresses.includes(address));
  return connect({ host: '127.0.0.1', port: found?.port ?? port });
}
