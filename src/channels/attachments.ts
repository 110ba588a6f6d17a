import { stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import type { InboundMessage, Media } from '../bus/messages.ts';
import { ensureDirectory, readIfExists, replaceDurable } from '../storage/files.ts';
import { backoffMs } from '../util/backoff.ts';
import { deadline, raceAbort, sleep, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Random } from '../util/random.ts';
import { SendError } from './channel.ts';
import type { Outlets } from './delivery-part.ts';

/** Of one file. */
const MOST_BYTES = 25 * 1024 * 1024;
const FETCH_DEADLINE_MS = 60_000;
const SPEECH_DEADLINE_MS = 120_000;
const TRIES = 3;
const RETRY = { firstMs: 500, maxMs: 4_000 };
const LONGEST_NAME = 80;
/** Behind the name of an attachment: a file that says where its bytes are. */
const KEPT_AT = '.kept-at';

export interface AttachmentPorts {
  readonly outlets: Pick<Outlets, 'outlet'>;
  /** Where the files of a session are kept. */
  readonly folder: (sessionKey: string) => string;
  /** Keeps a picture for all transcripts, once however often it comes; null: it is none that a model can be shown. */
  readonly keepImage: (bytes: Uint8Array) => Promise<string | null>;
  /** Turns speech into text; null where nothing is set up for that. */
  readonly transcribe: ((file: Media, signal: AbortSignal) => Promise<string>) | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What came with a message, as far as it could be had. */
export interface Fetched {
  readonly media: readonly Media[];
  /** What was spoken, in order. */
  readonly spoken: readonly string[];
  /** What a person should know: where a file lies, or why it is not there. One sentence each. */
  readonly notes: readonly string[];
}

/**
 * Gets what came with a message when a turn begins with it, so that a slow download holds up nothing else and a message
 * without its file is not lost. A file that was fetched before, by an earlier process too, is not fetched again.
 */
export class Attachments {
  readonly #ports: AttachmentPorts;

  constructor(ports: AttachmentPorts) {
    this.#ports = ports;
  }

  /** Never throws, unless the signal aborts. */
  async fetch(message: InboundMessage, signal: AbortSignal): Promise<Fetched> {
    const media: Media[] = [];
    const spoken: string[] = [];
    const notes: string[] = [];
    for (const [n, item] of message.media.entries()) {
      const name = JSON.stringify(item.name ?? item.kind);
      try {
        const file = item.source === undefined ? item : await this.#fetchOne(message, item, n, signal);
        media.push(file);
        const words = item.speech === true ? await this.#words(file, signal) : null;
        if (words !== null && 'text' in words) spoken.push(words.text);
        else if (words !== null)
          notes.push(`${name} could not be turned into text (${words.reason}); it is at ${file.path}`);
        else if (file.kind !== 'image' && item.source !== undefined) notes.push(`${name} is at ${file.path}`);
      } catch (error) {
        signal.throwIfAborted();
        this.#ports.log.warn('an attachment could not be fetched', { reason: errorMessage(error), name: item.name });
        notes.push(`${name} could not be fetched: ${errorMessage(error)}`);
      }
    }
    return { media, spoken, notes };
  }

  async #fetchOne(message: InboundMessage, item: Media, n: number, signal: AbortSignal): Promise<Media> {
    const folder = this.#ports.folder(message.sessionKey);
    const path = join(folder, `${message.id}-${n}-${safeName(item)}`);
    const note = `${path}${KEPT_AT}`;
    const earlier = await firstThere([path, (await readIfExists(note)) ?? path]);
    if (earlier !== null) return { ...item, ...earlier };
    const bytes = await this.#download(message.channel, item.source ?? '', signal);
    await ensureDirectory(folder);
    const image = item.kind === 'image' ? await this.#ports.keepImage(bytes) : null;
    // A picture lies where all transcripts find it; its note saves another download after a crash.
    if (image === null) await replaceDurable(path, bytes);
    else await replaceDurable(note, image);
    return { ...item, path: image ?? path, size: bytes.byteLength };
  }

  async #download(channelName: string, source: string, signal: AbortSignal): Promise<Uint8Array> {
    const { outlets, clock, random } = this.#ports;
    for (let tries = 1; ; tries += 1) {
      const channel = outlets.outlet(channelName);
      const isThere = typeof channel !== 'string';
      if (isThere && channel.download === undefined) throw new Error(`${channelName} gives no files`);
      try {
        if (!isThere || channel.download === undefined)
          throw new SendError('retryable', `${channelName} is not connected`);
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

  async #words(file: Media, signal: AbortSignal): Promise<{ readonly text: string } | { readonly reason: string }> {
    const { transcribe, clock } = this.#ports;
    if (transcribe === null) return { reason: 'no speech to text is set up (voice.provider)' };
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

async function firstThere(paths: readonly string[]): Promise<{ readonly path: string; readonly size: number } | null> {
  for (const path of paths) {
    const found = await stat(path).catch(() => null);
    if (found !== null) return { path, size: found.size };
  }
  return null;
}

/** A name that a stranger chose, as a name of our own. */
function safeName({ name = '', kind, mediaType }: Media): string {
  const plain = basename(name.replaceAll('\\', '/'))
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^\.+/u, '');
  const extension = extname(plain).slice(0, 12);
  const stem = plain.slice(0, plain.length - extname(plain).length).slice(0, LONGEST_NAME);
  const usual = /^\w+\/(?<type>\w{1,8})$/u.exec(mediaType)?.groups?.['type'];
  return `${stem === '' ? kind : stem}${extension === '' && usual !== undefined ? `.${usual}` : extension}`;
}
