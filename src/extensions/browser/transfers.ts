import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import {
  type ApprovalRequest,
  callerOf,
  type Denied,
  errorResult,
  escapeControlChars,
  type FileAccess,
  type GuardedFetch,
  openAllowed,
  readWhole,
  type ToolContext,
  type ToolResult,
  writeThrough,
} from '../../core/api-tools.ts';
import { AppError, errorMessage, megabytes, plural } from '../../core/api.ts';
import type { Acted, Browser } from './browser.ts';

const MOST_DOWNLOAD = 50_000_000;
const DOWNLOAD_MS = 110_000;
/** Bytes of a file that is given to a page. */
const MOST_UPLOAD = 20_000_000;
const LONGEST_NAME = 120;

/** Where a file from this address goes if no place is named: a name that cannot lead anywhere else. */
export function downloadPath(url: string, path: string | undefined): string {
  if (path !== undefined) return path;
  const last = URL.canParse(url) ? decoded(basename(new URL(url).pathname)) : '';
  const name = last
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/u, '_')
    .slice(-LONGEST_NAME);
  return `downloads/${name === '' ? 'file' : name}`;
}

/** A download is always asked about, with the file that it makes. `url`: as it was checked. */
export async function downloadQuestion(
  url: string,
  path: string,
  { files, context }: { readonly files: FileAccess; readonly context: ToolContext },
): Promise<ApprovalRequest | Denied> {
  try {
    using place = await files.guard.openInside(path, 'write', callerOf(context));
    const detail = `${url}\ninto ${escapeControlChars(place.path)}`;
    const reason = place.asks ?? 'a file from the web is written to the disk';
    return { title: 'Download a file', detail, reason, path: place.path };
  } catch (error) {
    return { denied: errorMessage(error) };
  }
}

/** Fetches the file with the cookies that the browser has for its address, and writes it. */
export async function download(
  { url, path }: { readonly url: string; readonly path: string },
  {
    files,
    fetch,
    browser,
    context,
  }: {
    readonly files: FileAccess;
    readonly fetch: GuardedFetch;
    /** Undefined: none runs, so there are no cookies. */
    readonly browser: Browser | undefined;
    readonly context: ToolContext;
  },
): Promise<ToolResult> {
  const title = `download ${path}`;
  const { cookies = '' } = (await browser?.act({ act: 'cookies', url }, context, false)) ?? {};
  const answer = await fetch.fetchGuarded(url, {
    signal: context.signal,
    headers: cookies === '' ? {} : { cookie: cookies },
    maxBytes: MOST_DOWNLOAD,
    timeoutMs: DOWNLOAD_MS,
  });
  const { status, bytes, truncated, headers } = answer;
  if (status >= 400)
    return errorResult(title, `The server answered with status ${status}. Nothing was written.`, { status });
  if (truncated) return errorResult(title, `It is larger than ${megabytes(MOST_DOWNLOAD)}. Nothing was written.`);
  using place = await openAllowed(files.guard, { path, access: 'write' }, context);
  await writeThrough(files, place, { path, bytes, read: null }, context);
  await files.origins?.mark(path, bytes);
  return {
    title: `downloaded ${path}`,
    output: `Written to ${path}: ${plural(bytes.length, 'byte')}.`,
    metadata: { path, size: bytes.length, type: headers['content-type'] ?? null },
  };
}

/** Giving a file to a page is always asked about. `hash`: of what would be given; a yes covers this content alone. */
export async function uploadQuestion(
  path: string,
  page: string,
  { files, context }: { readonly files: FileAccess; readonly context: ToolContext },
): Promise<{ readonly asks: ApprovalRequest; readonly hash: string } | Denied> {
  try {
    using place = await files.guard.openInside(path, 'read', callerOf(context));
    const detail = `${escapeControlChars(place.path)}\nto ${escapeControlChars(page)}`;
    const reason = place.asks ?? 'the page and its site can read the file from then on';
    const { bytes } = await readWhole(place, path, context);
    const hash = createHash('sha256').update(bytes).digest('hex');
    return { asks: { title: 'Give a file to a web page', detail, reason, path: place.path }, hash };
  } catch (error) {
    return { denied: errorMessage(error) };
  }
}

export async function upload(
  { path, ref }: { readonly path: string; readonly ref: string | undefined },
  { files, browser, context }: { readonly files: FileAccess; readonly browser: Browser; readonly context: ToolContext },
): Promise<Acted> {
  using place = await openAllowed(files.guard, { path, access: 'read' }, context);
  const { bytes, path: real } = await readWhole(place, path, context);
  if (bytes.length > MOST_UPLOAD) {
    throw new AppError(
      'browser-upload',
      `${path} has ${plural(bytes.length, 'byte')}; at most ${megabytes(MOST_UPLOAD)} are given to a page.`,
    );
  }
  const file = { name: basename(real), base64: bytes.toString('base64') };
  return await browser.act({ act: 'upload', ref, file }, context, true);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
