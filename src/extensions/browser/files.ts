import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import {
  callerOf,
  errorResult,
  escapeControlChars,
  openAllowed,
  readWhole,
  withScheme,
  writeThrough,
  type ApprovalRequest,
  type Plan,
  type ToolContext,
  type ToolResult,
} from '../../core/api-tools.ts';
import { type App, AppError, megabytes, plural } from '../../core/api.ts';
import type { Browsers } from './browsers.ts';
import type { PageRequest } from './pages.ts';

interface CallOf {
  readonly app: App;
  readonly context: ToolContext;
}

const MOST_DOWNLOAD = 50_000_000;
const DOWNLOAD_MS = 110_000;
/** Bytes of a file that is given to a page. */
const MOST_UPLOAD = 20_000_000;
const LONGEST_NAME = 120;

/** Where a file from this address goes if no place is named: a name that cannot lead anywhere else. */
export function downloadPath(address = '', path?: string): string {
  if (path !== undefined) return path;
  const url = withScheme(address);
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
  { app: { files }, context }: CallOf,
): Promise<ApprovalRequest> {
  using place = await files.guard.openInside(path, 'write', callerOf(context));
  const detail = `${url}\ninto ${escapeControlChars(place.path)}`;
  const reason = place.asks ?? 'a file from the web is written to the disk';
  return { title: 'Download a file', detail, reason, path: place.path };
}

/** Fetches the file with the cookies that a running browser has for its address, and writes it. */
export async function download(
  url: string,
  path: string,
  { app: { files, fetch }, browsers, context }: CallOf & { readonly browsers: Browsers },
): Promise<ToolResult> {
  const title = `download ${path}`;
  const { signal, call } = context;
  const acted =
    browsers.get(call.sessionKey) === undefined
      ? undefined
      : await browsers.use(call.sessionKey, { starts: false, signal }, (browser) =>
          browser.act({ action: 'cookies', url }, context, false),
        );
  const cookie = acted?.cookies ?? '';
  const { status, bytes, truncated, headers } = await fetch.fetchGuarded(url, {
    signal,
    headers: cookie === '' ? {} : { cookie },
    maxBytes: MOST_DOWNLOAD,
    timeoutMs: DOWNLOAD_MS,
  });
  if (status >= 400)
    return errorResult(title, `The server answered with status ${status}. Nothing was written.`, { status });
  if (truncated) return errorResult(title, `It is larger than ${megabytes(MOST_DOWNLOAD)}. Nothing was written.`);
  using place = await openAllowed(files.guard, { path, access: 'write' }, context);
  await writeThrough(files, place, { path, bytes, read: null, author: 'outside' }, context);
  return {
    title: `downloaded ${path}`,
    output: `Written to ${path}: ${plural(bytes.length, 'byte')}.`,
    metadata: { path, size: bytes.length, type: headers['content-type'] ?? null },
  };
}

/** Giving a file to a page is always asked about; a yes covers this content on this page alone. */
export async function uploadQuestion(
  path: string,
  page: string,
  { app: { files }, context }: CallOf,
): Promise<Pick<Plan, 'asks' | 'covers'>> {
  using place = await files.guard.openInside(path, 'read', callerOf(context));
  const detail = `${escapeControlChars(place.path)}\nto ${escapeControlChars(page)}`;
  const reason = place.asks ?? 'the page and its site can read the file from then on';
  const { bytes } = await readWhole(place, path, context);
  const file = createHash('sha256').update(bytes).digest('hex');
  return { asks: { title: 'Give a file to a web page', detail, reason, path: place.path }, covers: { page, file } };
}

/** The file that is given to a page. */
export async function uploadedFile(path: string, { app: { files }, context }: CallOf): Promise<PageRequest['file']> {
  using place = await openAllowed(files.guard, { path, access: 'read' }, context);
  const { bytes, path: real } = await readWhole(place, path, context);
  if (bytes.length > MOST_UPLOAD) {
    const size = plural(bytes.length, 'byte');
    const why = `${path} has ${size}; at most ${megabytes(MOST_UPLOAD)} are given to a page.`;
    throw new AppError('browser-upload', why);
  }
  return { name: basename(real), base64: bytes.toString('base64') };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
