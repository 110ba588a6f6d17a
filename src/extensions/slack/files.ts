import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { type Media, createGuardedFetch, albumsOf, SendError, type OutgoingPart } from '../../core/api-channels.ts';
import type { GuardedFetch } from '../../core/api-tools.ts';
import { raceAbort, type Clock, errorMessage } from '../../core/api.ts';
import { slackMessage } from './markup.ts';
import { toSendError } from './errors.ts';
import type { SlackOptions } from './options.ts';
import type { SlackClient } from './web-client.ts';

/** Bytes. */
const LARGEST_UPLOAD = 50 * 1024 * 1024;
const DOWNLOAD_DEADLINE_MS = 60_000;

const fileInfo = z.object({
  file: z.object({
    mimetype: z.string().default(''),
    size: z.number().optional(),
    url_private_download: z.string().optional(),
    url_private: z.string().optional(),
  }),
});

/** Slack takes this many files in one post. */
const MOST_FILES = 10;

/** What goes as one post. */
export function slackAlbum(files: readonly Media[]): readonly (readonly Media[])[] {
  return albumsOf(files, { most: MOST_FILES, mostBytes: LARGEST_UPLOAD });
}

/** Uploads files into a conversation as one post; returns an id for it. */
export async function uploadFiles(client: SlackClient, part: OutgoingPart, signal: AbortSignal): Promise<string> {
  const uploads = await Promise.all(
    part.media.map(async ({ kind, path, name = kind }) => {
      const bytes = await readFile(path).catch((error: unknown) => {
        throw new SendError('permanent', `the file ${name} cannot be read: ${errorMessage(error)}`);
      });
      if (bytes.byteLength > LARGEST_UPLOAD)
        throw new SendError('permanent', `${name} has more than the 50 MB that are uploaded`);
      return { file: bytes, filename: name, title: name };
    }),
  );
  const said = part.text === '' ? {} : { initial_comment: slackMessage(part.text).text };
  const place = { channel_id: part.chatId, ...said, file_uploads: uploads };
  const upload = part.threadId === undefined ? place : { ...place, thread_ts: part.threadId };
  await raceAbort(client.files.uploadV2(upload), signal);
  return `f:${part.nonce}`;
}

export interface DownloadPorts {
  readonly client: SlackClient;
  readonly options: Pick<SlackOptions, 'botToken' | 'apiUrl'>;
  readonly clock: Clock;
}

/** Gets a file by its id. The token goes to Slack alone; a page instead of the file is a failure. */
export async function downloadFile(
  id: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal },
  { client, options, clock }: DownloadPorts,
): Promise<Uint8Array> {
  try {
    const { file } = fileInfo.parse(await raceAbort(client.files.info({ file: id }), signal));
    const address = file.url_private_download ?? file.url_private;
    if (address === undefined) throw new SendError('permanent', 'Slack has no address for this file');
    const url = new URL(address);
    if (!isSlacks(url, options.apiUrl))
      throw new SendError('permanent', `the file lies at ${url.hostname}, which is not Slack`);
    const answer = await guarded(options.apiUrl, clock).fetchGuarded(address, {
      headers: { authorization: `Bearer ${options.botToken}` },
      maxBytes: maxBytes + 1,
      timeoutMs: DOWNLOAD_DEADLINE_MS,
      signal,
    });
    const { status, bytes, truncated, headers } = answer;
    if (status !== 200)
      throw new SendError(status >= 500 || status === 429 ? 'retryable' : 'permanent', `Slack answered HTTP ${status}`);
    const isPage = /^text\/html\b/iu.test(headers['content-type'] ?? '');
    if (isPage && !(file.mimetype === 'text/html' && file.size === bytes.byteLength))
      throw new SendError(
        'permanent',
        'Slack gave a sign-in page instead of the file: the app needs the scope files:read',
      );
    if (truncated || bytes.byteLength > maxBytes) throw new SendError('permanent', 'the file is too large');
    return bytes;
  } catch (error) {
    signal.throwIfAborted();
    throw toSendError(error);
  }
}

function guarded(apiUrl: string | null | undefined, clock: Clock): GuardedFetch {
  const allowHosts = apiUrl == null ? [] : [new URL(apiUrl).host];
  return createGuardedFetch({ allowHosts, denyHosts: [], clock });
}

/** Only there the token may go. */
function isSlacks(url: URL, apiUrl: string | null | undefined): boolean {
  if (apiUrl != null && url.host === new URL(apiUrl).host) return true;
  return url.protocol === 'https:' && /(?:^|\.)slack(?:-edge|-files)?\.com$/u.test(url.hostname);
}
