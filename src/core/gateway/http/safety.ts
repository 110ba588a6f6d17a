import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback } from '../token.ts';

/** Where this server may be reached. */
export interface OwnPlaces {
  /** The address that it listens on. */
  readonly host: string;
  /** The address that a reverse proxy serves it under, e.g. `https://assistant.example.org`; null: there is none. */
  readonly publicUrl: string | null;
}

/** Why a request is not served. */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 413 | 415 | 429;
  readonly code: string;
  readonly message: string;
  /** Seconds after which it is worth trying again. */
  readonly retryAfter?: number;
}

/** Headers of which a request has at most one, because a proxy and this server could each read another one. */
const SINGLE = ['host', 'origin', 'authorization', 'content-type', 'content-length', 'transfer-encoding'] as const;

/** What every answer says to browsers. The page is all that a browser ever runs of this server. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Of this server alone: `isFromOwnPage` reads it.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(self)',
  'Cache-Control': 'no-store',
};

/** Why a request may not be served to anyone; null: it may. */
export function unsafe(request: IncomingMessage, places: OwnPlaces): Refusal | null {
  const { headers, headersDistinct } = request;
  const repeated = SINGLE.find((name) => (headersDistinct[name]?.length ?? 0) > 1);
  if (repeated !== undefined) {
    return { status: 400, code: 'header-repeated', message: `The header ${repeated} is there more than once.` };
  }
  if (!isOwnHost(headers.host, places)) {
    return { status: 403, code: 'host-refused', message: 'This address is not served here.' };
  }
  if (headers.origin !== undefined && !isOwnOrigin(headers.origin, request, places)) {
    return { status: 403, code: 'origin-refused', message: 'Requests of other pages are not served.' };
  }
  return null;
}

/**
 * Whether the page of this server sent a request, so that its cookie counts. A page of another site cannot set these
 * headers. `Referer` stands for `Sec-Fetch-Site`, which browsers leave out where there is no TLS beyond this machine.
 */
export function isFromOwnPage(request: IncomingMessage, places: OwnPlaces): boolean {
  const { origin, referer } = request.headers;
  if (origin !== undefined) return isOwnOrigin(origin, request, places);
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const from = referer === undefined ? null : URL.parse(referer);
  return from !== null && isOwnOrigin(from.origin, request, places);
}

/**
 * Whether a request names this server, so that a web page cannot reach it under a name of its own (DNS rebinding).
 * On a wildcard address any numeric host is ours: rebinding needs a name.
 */
export function isOwnHost(header: string | undefined, { host, publicUrl }: OwnPlaces): boolean {
  const url = header === undefined ? null : URL.parse(`http://${header}`);
  if (url === null || header === undefined || /[/?#@\\\s]/u.test(header)) return false;
  const named = url.hostname.replace(/^\[|\]$/gu, '');
  if (isLoopback(named) || named === host.toLowerCase()) return true;
  if (publicUrl !== null && header.toLowerCase() === new URL(publicUrl).host) return true;
  return (host === '0.0.0.0' || host === '::') && isIP(named) !== 0;
}

/** Whether a request came over the reverse proxy, by the name that it asks for. */
export function isPublic(request: IncomingMessage, { publicUrl }: OwnPlaces): boolean {
  return publicUrl !== null && request.headers.host?.toLowerCase() === new URL(publicUrl).host;
}

/** The page that a request asks this server for has exactly this origin. */
function isOwnOrigin(origin: string, request: IncomingMessage, places: OwnPlaces): boolean {
  const { host = '' } = request.headers;
  const own = isPublic(request, places) ? new URL(places.publicUrl ?? '').origin : `http://${host.toLowerCase()}`;
  return origin.toLowerCase() === own;
}

/** Whose failures a failed login counts as. A proxy is asked whom it speaks for only if one is configured. */
export function addressOf(request: IncomingMessage, places: OwnPlaces): string {
  const direct = request.socket.remoteAddress ?? 'unknown';
  const forwarded = isPublic(request, places) ? request.headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.at(-1) : forwarded)?.split(',').at(-1)?.trim();
  return last !== undefined && isIP(last) !== 0 ? last : direct;
}
