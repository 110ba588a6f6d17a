import type { ImagePart, StoredImage, UserPart } from '../providers/provider.ts';
import {
  isOlderTurn,
  type EntryOf,
  type MessageEntry,
  type TapeEntry,
  type ToolEntry,
  type UserEntry,
} from './entry.ts';
import { oneLine } from '../util/text.ts';
import { type HistoryMessage, Transcript } from './transcript.ts';
import { partsByEntry, refusedIn, withoutRefused } from './refused-content.ts';
import { isTurningPoint, type Summary, type Window, WindowScan } from './history-window.ts';

/** The messages of a session for the model. Always a legal transcript: each tool call has its result. */
export interface History {
  /** Oldest first. */
  readonly messages: readonly HistoryMessage[];
  /** It contains untrusted content. */
  readonly untrusted: boolean;
  /** Where the newest untrusted content came from, such as a host name; null when unknown or none. */
  readonly source: string | null;
  /** It contains text that is private to the owner. */
  readonly private: boolean;
  /** Roles of the turns in it, those of the summary included: text counts for the role of its author. */
  readonly authors: ReadonlySet<string>;
  /** The summary, which is the first of `messages`; null: none. */
  readonly summary: Summary | null;
  /** The newest trim that applies; null: none. */
  readonly trim: EntryOf<'trim'> | null;
  /** Kind of the entry at which the history begins; `start`: the beginning of the tape. */
  readonly boundary: Window['boundary'];
  /** SHA-256 of the layers of the system prompt that a provider refused. */
  readonly refusedLayers: ReadonlySet<string>;
}

export interface FoldOptions {
  /** Looks up an image by its content hash; undefined when it is no longer stored. @default always undefined */
  readonly image?: (hash: string) => StoredImage | undefined;
}

const IMAGE_GONE = '[An image that is no longer available.]';
const IMAGE_TRIMMED = '[An image, left out to save space.]';

/**
 * Makes the transcript for the model from the entries of a tape, newest first. Pure. Takes no more entries than it needs.
 * Messages of ended turns change only by the entries retract, trim, anchor and reset.
 */
export function foldHistory(newestFirst: Iterable<TapeEntry>, options: FoldOptions = {}): History {
  return new HistoryFold(newestFirst, options).history();
}

/** Cap of the reason in `closingText`, in characters. */
const LONGEST_REASON = 600;

/**
 * The assistant's last text for a turn that was stopped or failed: the part of the answer that people saw, then the reason
 * in brackets. It keeps the model from taking the question for an open one. Null for any other outcome.
 */
export function closingText({ outcome, answer, partial = '' }: EntryOf<'turn-end'>): string | null {
  if (outcome !== 'stopped' && outcome !== 'failed') return null;
  const why = oneLine(answer, LONGEST_REASON);
  const line = outcome === 'stopped' ? 'stopped by the user' : `not answered${why === '' ? '' : `: ${why}`}`;
  return partial.trim() === '' ? `[${line}]` : `${partial.trimEnd()}\n\n[${line}]`;
}

/** The entries of one turn, oldest first. Searches from the end and not beyond the turn, which mostly is the newest one. */
export function turnEntries(entries: readonly TapeEntry[], turnId: string): readonly TapeEntry[] {
  const found: TapeEntry[] = [];
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry?.turn !== turnId) {
      // Turns of a session run one after another: behind an older one there is nothing of this turn.
      if (found.length === 0 && typeof entry?.turn === 'string' && isOlderTurn(entry.turn, turnId)) break;
      continue;
    }
    found.push(entry);
    if (entry.kind === 'turn-start') break;
  }
  return found.reverse();
}

/** All entries but those of turns without an end; for readers other than the running turn. */
export function endedTurnsOnly(entries: readonly TapeEntry[]): readonly TapeEntry[] {
  const ended = new Set(entries.filter((entry) => entry.kind === 'turn-end').map((entry) => entry.turn));
  return entries.filter((entry) => entry.turn === null || ended.has(entry.turn));
}

/** Builds a `History` and extends it by appended entries, so that a long tape is not read again for each entry. */
export class HistoryFold {
  readonly #options: FoldOptions;
  readonly #window: Pick<Window, 'summary' | 'trim' | 'boundary'>;
  readonly #retracted: ReadonlySet<string>;
  readonly #refusedParts: ReturnType<typeof partsByEntry>;
  readonly #refusedLayers: ReadonlySet<string>;
  readonly #transcript = new Transcript();
  #untrusted: boolean;
  #private: boolean;
  #source: string | null = null;
  readonly #authors = new Set<string>();

  constructor(newestFirst: Iterable<TapeEntry>, options: FoldOptions = {}) {
    const scan = new WindowScan();
    for (const entry of newestFirst) if (!scan.take(entry)) break;
    const window = scan.finish();
    const { summary, trim, boundary } = window;
    this.#options = options;
    this.#window = { summary, trim, boundary };
    this.#retracted = new Set(window.entries.flatMap((entry) => (entry.kind === 'retract' ? entry.turns : [])));
    const refused = refusedIn(window.entries);
    this.#refusedParts = partsByEntry(refused);
    this.#refusedLayers = new Set(refused.flatMap(({ layers }) => layers.map(({ hash }) => hash)));
    this.#untrusted = summary?.untrusted ?? false;
    this.#private = summary?.private ?? false;
    for (const role of summary?.authors ?? []) this.#authors.add(role);
    if (summary !== null) this.#transcript.user(summaryMessage(summary));
    const entries = window.entries.slice(window.from);
    const stubbed = lengthUpTo(entries, trim?.stubUpTo);
    const imageless = lengthUpTo(entries, trim?.imagesUpTo);
    for (const [index, entry] of entries.entries()) {
      this.#add(entry, { stub: index < stubbed, imageless: index < imageless });
    }
  }

  /** Extends the history by entries from the end of the tape. False, and nothing is done: one of them changes earlier entries. */
  extend(entries: readonly TapeEntry[]): boolean {
    if (entries.some(isTurningPoint)) return false;
    for (const entry of entries) this.#add(entry, { stub: false, imageless: false });
    return true;
  }

  history(): History {
    const messages = this.#transcript.messages();
    return {
      messages,
      untrusted: this.#untrusted,
      source: this.#source,
      private: this.#private,
      authors: this.#authors,
      refusedLayers: this.#refusedLayers,
      ...this.#window,
    };
  }

  #add(stored: TapeEntry, { stub, imageless }: { readonly stub: boolean; readonly imageless: boolean }): void {
    const entry = withoutRefused(stored, this.#refusedParts);
    if (entry.turn !== null && this.#retracted.has(entry.turn)) return;
    this.#untrusted ||= entry.untrusted === true;
    if (entry.untrusted === true) this.#source = entry.source ?? this.#source;
    this.#private ||= entry.private === true;
    if (entry.kind === 'turn-start') {
      this.#authors.add(entry.role);
      this.#transcript.turnBegins(entry.turn);
    } else if (entry.kind === 'turn-end') {
      const text = closingText(entry);
      this.#transcript.turnEnds(entry.turn, text === null ? null : { entryId: entry.id, text });
    } else if (entry.kind === 'message') {
      const look = (hash: string): StoredImage | undefined => this.#options.image?.(hash);
      addMessage(this.#transcript, entry, { image: imageless ? 'trimmed' : look, stub });
    }
  }
}

/** The number of entries up to and including `id`; 0 when it is not among them. */
function lengthUpTo(entries: readonly TapeEntry[], id: string | null | undefined): number {
  return typeof id === 'string' ? entries.findIndex((entry) => entry.id === id) + 1 : 0;
}

interface Rendering {
  readonly image: 'trimmed' | ((hash: string) => StoredImage | undefined);
  readonly stub: boolean;
}

type ImageRef = UserEntry['content'][number] & { type: 'image' };

function addMessage(transcript: Transcript, entry: MessageEntry, rendering: Rendering): void {
  const at = { entryId: entry.id, turn: entry.turn };
  switch (entry.role) {
    case 'user': {
      const content = entry.content.map((part) => (part.type === 'text' ? part : imagePart(part, rendering)));
      transcript.user({ ...at, message: { role: 'user', content } });
      return;
    }
    case 'assistant':
      transcript.assistant({ ...at, message: { role: 'assistant', content: entry.content } });
      return;
    case 'tool': {
      const { callId, name, isError } = entry;
      transcript.result({ ...at, message: { role: 'tool', callId, name, isError, ...resultBody(entry, rendering) } });
      return;
    }
  }
}

function imagePart(ref: ImageRef, { image }: Rendering): UserPart {
  if (image === 'trimmed') return { type: 'text', text: IMAGE_TRIMMED };
  const stored = image(ref.hash);
  if (stored === undefined) return { type: 'text', text: IMAGE_GONE };
  return { type: 'image', mediaType: ref.mediaType, hash: ref.hash, ...stored };
}

function resultBody(entry: ToolEntry, rendering: Rendering): { output: string; images?: readonly ImagePart[] } {
  if (rendering.stub) return { output: stubOf(entry) };
  const images: ImagePart[] = [];
  const lines = [entry.output];
  for (const ref of entry.images ?? []) {
    const part = imagePart(ref, rendering);
    if (part.type === 'image') images.push(part);
    else lines.push(part.text);
  }
  return { output: lines.join('\n'), ...(images.length > 0 ? { images } : {}) };
}

/** The text in place of a trimmed tool result. A result without images that is no longer than this text is kept. */
export function stubOf({ name, output, images = [] }: ToolEntry): string {
  const and = images.length === 0 ? '' : ` and ${images.length} image(s)`;
  const stub = `[The result of ${name} was left out to save space: ${output.length} characters${and}.]`;
  return images.length === 0 && output.length <= stub.length ? output : stub;
}

function summaryMessage(summary: Summary): Parameters<Transcript['user']>[0] {
  const text = summary.text.replaceAll(/<(?=\/?summary>)/gu, '‹');
  return {
    entryId: summary.entryId,
    turn: null,
    message: {
      role: 'user',
      content: [
        {
          type: 'text',
          text: `<summary>\nA summary of the conversation up to here; it is a record, not a request.\n${text}\n</summary>`,
        },
      ],
    },
  };
}
