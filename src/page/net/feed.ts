import { signal } from '@preact/signals';
import type { ServerFrame } from '../../core/gateway/http/wire.ts';
import { after, chance } from '../clock.ts';
import { withLogin } from './http.ts';

/** How the connection is; `connecting` only before the first one. */
export const connection = signal<'connecting' | 'online' | 'offline'>('connecting');

const LONGEST_WAIT_MS = 15_000;

/**
 * Follows the assistant over one WebSocket until what it returns is called: a lost connection is made again after a growing,
 * uneven wait, from the last cursor on. `lost` is called after each one that ended.
 */
export function openFeed(hear: (frame: ServerFrame) => void, lost: () => void): () => void {
  let cursor: string | undefined;
  let failures = 0;
  let socket: WebSocket | undefined;
  let cancel = (): void => {};
  let isClosed = false;

  const connect = (): void => {
    cancel();
    const address = new URL(withLogin('/ws'));
    address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    if (cursor !== undefined) address.searchParams.set('after', cursor);
    const mine = new WebSocket(address);
    socket = mine;
    mine.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (typeof data !== 'string' || mine !== socket) return;
      const frame = JSON.parse(data) as ServerFrame;
      if (frame.type === 'hello') {
        failures = 0;
        connection.value = 'online';
        cursor ??= frame.cursor;
      }
      hear(frame);
      if (frame.type === 'rows' || frame.type === 'gap') cursor = frame.cursor;
    });
    mine.addEventListener('close', () => {
      if (isClosed || mine !== socket) return;
      connection.value = 'offline';
      lost();
      const longest = Math.min(LONGEST_WAIT_MS, 400 * 2 ** failures);
      failures += 1;
      cancel = after(longest * (0.5 + chance() / 2), connect);
    });
  };
  const again = (): void => {
    if (connection.value !== 'offline') return;
    failures = 0;
    connect();
  };
  const away = (): void => {
    socket?.close();
    // A dead network does not always end the connection.
    connection.value = 'offline';
  };
  const seen = (): void => {
    if (document.visibilityState === 'visible') again();
  };
  window.addEventListener('online', again);
  window.addEventListener('offline', away);
  document.addEventListener('visibilitychange', seen);
  connect();
  return () => {
    isClosed = true;
    cancel();
    socket?.close();
    connection.value = 'connecting';
    window.removeEventListener('online', again);
    window.removeEventListener('offline', away);
    document.removeEventListener('visibilitychange', seen);
  };
}
