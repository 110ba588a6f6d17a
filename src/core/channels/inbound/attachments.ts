import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { InboundMessage, Media } from '../../bus/messages.ts';
import { ensureDirectory, copyDurable, replaceDurable } from '../../storage/files.ts';
import { backoffMs } from '../../util/backoff.ts';
import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { fileEnding } from '../../util/file-ending.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import { SendError, type Channel } from '../channel.ts';
import type { GuestFiles } from './guest-files.ts';
import type { Outlets } from '../delivery/next-part.ts';
import { cut } from '../../util/text.ts';

/** Cap of one file. */
const MOST_BYTES = 25 * 1024 * 1024;
const FETCH_DEADLINE_MS = 60_000;
const SPEECH_DEADLINE_MS = 120_000;
const TRIES = 3;
/** How long to wait for a channel that is not connected, for all files of a message together. */
const CHANNEL_WAIT_MS = 120_000;
const RETRY = { firstMs: 500, maxMs: 4_000 };
const LONGEST_NAME = 80;

export interface AttachmentPorts {
  readonly outlets: Pick<Outlets, 'outlet' | 'onReachable'>;
  /** Sends a notice about a message to its chat, once. Never rejects. */
  readonly tell: (message: InboundMessage, text: string) => Promise<void>;
  /** Absolute path of the folder for the files of a session. */
  readonly folder: (sessionKey: string) => string;
  readonly guestFiles: Pick<GuestFiles, 'mark' | 'requireSpace' | 'makeRoom'>;
  /** Stores an image by content hash and returns its path; null: models cannot read this format. */
  readonly keepImage: (bytes: Uint8Array) => Promise<string | null>;
  /** Transcribes a voice message; null when no transcription is configured. */
  readonly transcribe: ((file: Media, signal: AbortSignal) => Promise<string>) | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The attachments of a message, as far as they could be fetched. */
export interface Fetched {
  readonly media: readonly Media[];
  /** Transcripts of voice messages, in order. */
  readonly spoken: readonly string[];
  /** Transcripts of voice messages that the message only refers to, in order. */
  readonly heard: readonly { readonly from: string; readonly text: string }[];
  /** One sentence for each file: its path, or why it could not be fetched. */
  readonly notes: readonly string[];
}

/**
 * Fetches the attachments of a message when its turn begins, so that a slow download delays only that turn, and a message
 * whose file cannot be fetched is still answered. A file that was fetched before, also by an earlier process, is not fetched
 * again.
 */
export class Attachments {
  readonly #ports: AttachmentPorts;

  constructor(ports: AttachmentPorts) {
    this.#ports = ports;
  }

  /** Fetches the attachments of a message. Rejects only when the signal aborts. */
  async fetch(message: InboundMessage, signal: AbortSignal): Promise<Fetched> {
    const media: Media[] = [];
    const spoken: string[] = [];
    const heard: Fetched['heard'][number][] = [];
    const notes: string[] = [];
    const missing: string[] = [];
    const waitUntil = this.#ports.clock.monotonic() + CHANNEL_WAIT_MS;
    for (const [n, item] of message.media.entries()) {
      const from = item.quotedFrom;
      const name = `${JSON.stringify(item.name ?? item.kind)}${from === undefined ? '' : ` of ${JSON.stringify(cut(from, LONGEST_NAME))}`}`;
      try {
        const file = item.source === undefined ? item : await this.#fetchOne(message, item, { n, waitUntil }, signal);
        media.push(file);
        const words = item.speech === true ? await this.#words(file, signal) : null;
        if (words !== null && 'text' in words) {
          if (from === undefined) spoken.push(words.text);
          else heard.push({ from, text: words.text });
        } else if (words !== null)
          notes.push(`${name} could not be turned into text (${words.reason}); it is at ${file.path}`);
        else if (item.source !== undefined) notes.push(`${name} is at ${file.path}`);
      } catch (error) {
        signal.throwIfAborted();
        this.#ports.log.warn('attachments: not fetched', { reason: errorMessage(error), name: item.name });
        notes.push(`${name} could not be fetched: ${errorMessage(error)}`);
        if (error instanceof NotConnected)
          missing.push(item.name === undefined ? `the ${item.kind}` : `“${item.name}”`);
      }
    }
    if (missing.length > 0) {
      const it = missing.length === 1 ? 'it' : 'them';
      const text = `I could not get ${missing.join(' and ')}, because ${message.channel} was not connected for two minutes, and continued without ${it}. Please send ${it} again.`;
      await this.#ports.tell(message, text);
    }
    return { media, spoken, heard, notes };
  }

  async #fetchOne(
    message: InboundMessage,
    item: Media,
    { n, waitUntil }: { readonly n: number; readonly waitUntil: number },
    signal: AbortSignal,
  ): Promise<Media> {
    const folder = this.#ports.folder(message.sessionKey);
    const guests = message.role === 'guest' ? this.#ports.guestFiles : null;
    const begins = `${message.id}-${n}${guests?.mark(item.kind === 'image') ?? '-'}`;
    const earlier = await this.#earlier(folder, begins);
    if (earlier !== null) return { ...item, ...earlier };
    await guests?.requireSpace();
    const bytes = await this.#download(message.channel, item.source ?? '', { waitUntil, signal });
    const path = join(folder, `${begins}${safeName(item, bytes)}`);
    await guests?.makeRoom(path, bytes.byteLength);
    await ensureDirectory(folder);
    const image = item.kind === 'image' ? await this.#ports.keepImage(bytes) : null;
    // Images are stored once for all sessions. The tools of a session cannot read there, so they get a copy.
    if (image === null) await replaceDurable(path, bytes);
    else await copyDurable(image, path);
    return { ...item, path, size: bytes.byteLength };
  }

  /** The file of an earlier attempt; null: there is none. */
  async #earlier(folder: string, begins: string): Promise<Pick<Media, 'path' | 'size'> | null> {
    const found = (await readdir(folder).catch(() => [])).find((name) => name.startsWith(begins));
    if (found === undefined) return null;
    const path = join(folder, found);
    return { path, size: (await stat(path)).size };
  }

  async #download(
    channelName: string,
    source: string,
    { waitUntil, signal }: { readonly waitUntil: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array> {
    const { clock, random } = this.#ports;
    for (let tries = 1; ; tries += 1) {
      const channel = await this.#connected(channelName, waitUntil, signal);
      if (channel.download === undefined) throw new Error(`${channelName} gives no files`);
      try {
        using limit = deadline(clock, FETCH_DEADLINE_MS, 'Fetching a file');
        const cut = AbortSignal.any([signal, limit.signal]);
        return await raceAbort(channel.download(source, { maxBytes: MOST_BYTES }, cut), cut);
      } catch (error) {
        signal.throwIfAborted();
        const isFinal = error instanceof SendError && error.failure === 'permanent';
        if (isFinal || tries === TRIES) throw error;
        await sleep(clock, backoffMs(tries, RETRY, random), signal);
      }
    }
  }

  /** Waits until the channel is connected; during a start or a reconnect that takes a moment. Rejects after `waitUntil`. */
  async #connected(name: string, waitUntil: number, signal: AbortSignal): Promise<Channel> {
    const { outlets, clock } = this.#ports;
    for (;;) {
      const reachable = Promise.withResolvers<void>();
      using _listening = outlets.onReachable((channel) => {
        if (channel === name) reachable.resolve();
      });
      const channel = outlets.outlet(name);
      if (typeof channel !== 'string') return channel;
      const waitMs = waitUntil - clock.monotonic();
      if (channel === 'unknown') throw new Error(`${name} is not connected`);
      if (waitMs <= 0) throw new NotConnected(name);
      using limit = deadline(clock, waitMs, 'Waiting for a channel');
      await raceAbort(reachable.promise, AbortSignal.any([signal, limit.signal])).catch(() => signal.throwIfAborted());
    }
  }

  async #words(file: Media, signal: AbortSignal): Promise<{ readonly text: string } | { readonly reason: string }> {
    const { transcribe, clock } = this.#ports;
    if (transcribe === null)
      return { reason: 'no speech to text is set up: it needs a key of OpenAI or Groq, or voice.provider' };
    using limit = deadline(clock, SPEECH_DEADLINE_MS, 'Turning speech into text');
    const cut = AbortSignal.any([signal, limit.signal]);
    try {
      const text = (await raceAbort(transcribe(file, cut), cut)).trim();
      return text === '' ? { reason: 'nothing was understood' } : { text };
    } catch (error) {
      signal.throwIfAborted();
      return { reason: errorMessage(error) };
    }
  }
}

class NotConnected extends Error {
  constructor(channel: string) {
    super(`${channel} is not connected`);
  }
}

/** A file name extension; `.2` in `report.2` is none. */
const ENDING = /\.(?!\d+$)[a-z0-9]{1,10}$/iu;

/** Makes a safe file name from the name that a sender chose. Keeps its extension, else takes that of the file's type. */
function safeName({ name = '', kind, mediaType }: Media, bytes: Uint8Array): string {
  const plain = basename(name.replaceAll('\\', '/'))
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/u, '');
  const given = ENDING.exec(plain)?.[0] ?? '';
  const stem = cut(plain.slice(0, plain.length - given.length), LONGEST_NAME);
  return `${stem === '' ? kind : stem}${given === '' ? `.${fileEnding(mediaType, bytes)}` : given}`;
}

/** Whether models can read a file of this media type as an image. */
export function isPicture(mediaType = ''): boolean {
  return /^image\/(?:png|jpeg|gif|webp)$/u.test(mediaType);
}
