import { createGuardedFetch, SendError } from '../../core/api-channels.ts';
import type { GuardedFetch } from '../../core/api-tools.ts';
import { AppError, type Clock } from '../../core/api.ts';
import type { DiscordApi } from './api.ts';
import { LARGEST_DOWNLOAD } from './attachments.ts';
import { payloads } from './payload.ts';

const DOWNLOAD_MS = 60_000;
/** An address of a file that is over. */
const OVER: ReadonlySet<number> = new Set([401, 403, 404]);

/** Fetches what Discord says lies at an address; `apiBase` is the only private host that is asked. */
export function guardedFetch(apiBase: string | null | undefined, clock: Clock): GuardedFetch {
  const allowHosts = apiBase == null ? [] : [new URL(apiBase).hostname];
  return createGuardedFetch({ allowHosts, denyHosts: [], clock });
}

interface Download {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Gets an attachment; an address that is over is asked for anew. Throws a `SendError`. */
export async function download(
  url: string,
  { api, fetch }: { readonly api: DiscordApi; readonly fetch: GuardedFetch },
  options: Download,
): Promise<Uint8Array> {
  const first = await get(url, fetch, options);
  if (!OVER.has(first.status)) return bytesOf(first);
  const answer = payloads.refreshed.safeParse(await api.refresh(url, options.signal).catch(() => null));
  const fresh = answer.success ? answer.data.refreshed_urls[0]?.refreshed : undefined;
  return bytesOf(fresh === undefined || fresh === url ? first : await get(fresh, fetch, options));
}

type Answer = Awaited<ReturnType<GuardedFetch['fetchGuarded']>>;

async function get(url: string, guarded: GuardedFetch, { maxBytes, signal }: Download): Promise<Answer> {
  const most = Math.min(maxBytes, LARGEST_DOWNLOAD);
  try {
    return await guarded.fetchGuarded(url, { maxBytes: most, timeoutMs: DOWNLOAD_MS, signal });
  } catch (error) {
    signal.throwIfAborted();
    const isRefused = error instanceof AppError && error.code === 'fetch-refused';
    throw new SendError(isRefused ? 'permanent' : 'retryable', 'the file cannot be fetched', { cause: error });
  }
}

function bytesOf({ status, bytes, truncated }: Answer): Uint8Array {
  if (truncated) throw new SendError('permanent', 'the file is larger than 25 MB');
  if (status === 200) return bytes;
  throw new SendError(status >= 500 ? 'retryable' : 'permanent', `the file could not be downloaded (HTTP ${status})`);
}
