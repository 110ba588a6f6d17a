import { imagesOf } from '../../providers/images.ts';
import type { ImagePart, ModelMessage, ModelRequest } from '../../providers/provider.ts';
import type { Session } from '../../session/session.ts';
import type { Logger } from '../../util/log.ts';
import { RecentMap } from '../../util/recent-map.ts';

export interface WatchedRequest {
  readonly session: Session;
  /** As configured and asked, `provider/model`. */
  readonly modelRef: string;
  /** The system prompt as the workspace's files give it, before any hook. */
  readonly files: readonly string[];
  /** As it is sent. */
  readonly request: ModelRequest;
}

/** Where a request stopped being the continuation of the one before. */
export interface PrefixBreak {
  /** `model`, `system`, `tools`, or `message <n>` counted from 0. */
  readonly layer: string;
  /** Offset of the first byte of the layer that differs. */
  readonly byte: number;
  /** Why it may; null: it may not. */
  readonly allowedBy: string | null;
}

/** The request before. Its texts are those of the tape, shared; of images only a fingerprint is kept. */
interface Seen {
  readonly modelRef: string;
  readonly files: string;
  readonly system: string;
  readonly tools: string;
  readonly toolNames: string;
  /** The newest entry that may change what was sent before. */
  readonly turningPoint: string | undefined;
  readonly messages: readonly ModelMessage[];
}

/** Sessions that are watched at once. */
const WATCHED = 128;

/**
 * Watches that each request of a session begins with the whole request before, which is what lets providers cache it.
 * A break for another reason than a trim, anchor, reset, retract, another model, tool list or changed file is logged
 * as a warning with its layer and byte, and counted.
 */
export class PrefixWatch {
  readonly #log: Logger;
  readonly #seen = new RecentMap<string, Seen>(WATCHED);
  #breaks = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Breaks without a reason since the start. */
  get breaks(): number {
    return this.#breaks;
  }

  /** Compares with the session's request before; null when that is a prefix of this one. */
  check(watched: WatchedRequest): PrefixBreak | null {
    const { session } = watched;
    const before = this.#seen.get(session.key);
    const now = seen(watched);
    this.#seen.set(session.key, now);
    const found = before === undefined ? null : compare(before, now);
    if (found === null) return null;
    const facts = { session: session.key, layer: found.layer, byte: found.byte };
    if (found.allowedBy === null) {
      this.#breaks += 1;
      this.#log.warn('prompt cache: request does not extend the one before, so the cache is not used', facts);
    } else {
      this.#log.debug('prompt cache: restarts', { ...facts, because: found.allowedBy });
    }
    return found;
  }
}

const rendered = new WeakMap<object, string>();

/** Tools and layers are the same objects for many calls. */
function render(value: object): string {
  let text = rendered.get(value);
  if (text === undefined) {
    text = JSON.stringify(value);
    rendered.set(value, text);
  }
  return text;
}

function seen({ session, modelRef, files, request }: WatchedRequest): Seen {
  const turning = session.window.findLast(({ kind }) => TURNING_POINTS.has(kind));
  return {
    modelRef,
    files: render(files),
    system: render(request.system),
    tools: render(request.tools),
    toolNames: request.tools.map(({ name }) => name).join(' '),
    turningPoint: turning?.id,
    messages: request.messages.map(withoutImages),
  };
}

const TURNING_POINTS: ReadonlySet<string> = new Set(['trim', 'anchor', 'reset', 'retract']);

function compare(before: Seen, now: Seen): PrefixBreak | null {
  if (before.modelRef !== now.modelRef) return at('model', before.modelRef, now.modelRef, 'another model');
  if (before.system !== now.system) {
    return at('system', before.system, now.system, before.files === now.files ? null : 'a changed file');
  }
  if (before.tools !== now.tools) {
    const allowedBy = before.toolNames === now.toolNames ? null : 'another list of tools';
    return at('tools', before.tools, now.tools, allowedBy);
  }
  for (const [index, message] of before.messages.entries()) {
    const other = now.messages[index];
    if (other !== undefined && isSame(message, other)) continue;
    const allowedBy = reasonFor(before, now, { message, other });
    return at(`message ${index}`, JSON.stringify(message), other === undefined ? '' : JSON.stringify(other), allowedBy);
  }
  return null;
}

function at(layer: string, before: string, now: string, allowedBy: string | null): PrefixBreak {
  const [a, b] = [Buffer.from(before), Buffer.from(now)];
  const most = Math.min(a.length, b.length);
  let byte = 0;
  while (byte < most && a[byte] === b[byte]) byte += 1;
  return { layer, byte, allowedBy };
}

function reasonFor(
  before: Seen,
  now: Seen,
  { message, other }: { readonly message: ModelMessage; readonly other: ModelMessage | undefined },
): string | null {
  if (before.turningPoint !== now.turningPoint) return 'a trim, anchor, reset or retract';
  const fewer = other !== undefined && imagesOf(other).length < imagesOf(message).length;
  return fewer ? 'older images that were left out' : null;
}

/** Almost always the very same parts; what was folded anew is compared by its text. */
function isSame(a: ModelMessage, b: ModelMessage): boolean {
  if (a.role === 'tool' && b.role === 'tool') {
    if (a.output !== b.output || a.callId !== b.callId || a.name !== b.name || a.isError !== b.isError) return false;
    return a.images === b.images || JSON.stringify(a.images) === JSON.stringify(b.images);
  }
  if (a.role !== b.role || a.role === 'tool' || b.role === 'tool') return false;
  if (a.content === b.content) return true;
  const other = b.content;
  return (
    a.content.length === other.length &&
    a.content.every((part, index) => part === other[index] || JSON.stringify(part) === JSON.stringify(other[index]))
  );
}

/** Base64 would be kept alive by the watch alone: length, beginning, middle and end tell images apart; a handle has its hash. */
function withoutImages(message: ModelMessage): ModelMessage {
  if (message.role === 'tool') {
    return message.images === undefined ? message : { ...message, images: message.images.map(fingerprint) };
  }
  if (message.role !== 'user' || !message.content.some((part) => part.type === 'image')) return message;
  return { role: 'user', content: message.content.map((part) => (part.type === 'image' ? fingerprint(part) : part)) };
}

function fingerprint(image: ImagePart): ImagePart {
  if (!('data' in image)) return image;
  const { data } = image;
  const middle = Math.floor(data.length / 2);
  const parts = [data.slice(0, 48), data.slice(middle, middle + 48), data.slice(-48)];
  // Joined anew: a slice would keep the whole text alive.
  return { ...image, data: Buffer.from(`${data.length}:${parts.join('…')}`).toString() };
}
