import type { IncomingHttpHeaders } from 'node:http';
import type { GuardedFetchOptions } from '../fetch/fetch.ts';

/** A request that sends something, before it is sent. All of it is untrusted. */
export interface SendingRequest {
  /** In upper case: not GET, not HEAD; of a preflight the method that it announces. */
  readonly method: string;
  /** The whole address. */
  readonly url: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** All that it would send; of a preflight nothing. */
  readonly body: Uint8Array;
}

/** What one proxy lets through. */
export interface ProxyLimits {
  /** Connections at the same time. @default 64 */
  readonly connections: number;
  /** Bytes of one connection, both ways together. @default 100 MB */
  readonly connectionBytes: number;
  /** Bytes of all connections of the proxy's life. @default 1 GB */
  readonly bytes: number;
  /** Longest body of a request. @default 30 MB */
  readonly bodyBytes: number;
  /** Milliseconds that a connection may last. @default 20 minutes */
  readonly lastMs: number;
}

export const DEFAULT_PROXY_LIMITS: ProxyLimits = {
  connections: 64,
  connectionBytes: 100_000_000,
  bytes: 1_000_000_000,
  bodyBytes: 30_000_000,
  lastMs: 1_200_000,
};

export interface GuardedProxyOptions extends GuardedFetchOptions {
  /**
   * Decides about each request with another method than GET and HEAD; it may take its time. Null: it is sent. Otherwise
   * one sentence why not. A rejection is a no.
   */
  readonly maySend: (request: SendingRequest, signal: AbortSignal) => Promise<string | null>;
  /** Is told one sentence for each request or connection that was refused or failed. @default no one is */
  readonly onRefused?: (sentence: string) => void;
  readonly limits?: Partial<ProxyLimits>;
}

/** A proxy that listens; disposing ends all of its connections. */
export interface RunningProxy extends AsyncDisposable {
  /** SHA-256 in base64 of the only key that clients have to accept, whichever host they ask for. */
  readonly keyHash: string;
}
