import { imagesOf } from '../../providers/images.ts';
import type { ImagePart, ModelMessage, ModelRequest } from '../../providers/provider.ts';
import type { Session } from '../../session/session.ts';
import type { Logger } from '../../util/log.ts';

export interface WatchedRequest {
  readonly session: Pick<Session, 'key' | 'turningPoint'>;
  /** `provider/model` that was asked. */
  readonly modelRef: string;
  /** The system prompt before any hook, made from the workspace's files. */
  readonly files: readonly string[];
  /** The request as it is sent. */
  readonly request: ModelRequest;
}

/** Where a request first differs from the one before it, instead of extending it. */
export interface PrefixBreak {
  /** `model`, `system`, `tools`, or `message <n>` counted from 0. */
  readonly layer: string;
  /** Offset of the first byte of the layer that differs. */
  readonly byte: number;
  /** The reason, if it is an expected one; null: the break is a defect. */
  readonly allowedBy: string | null;
}

/** The last request of a session. It shares its texts with the tape; of images only a fingerprint is kept. */
interface Seen {
  readonly modelRef: string;
  readonly files: string;
  readonly system: string;
  readonly tools: string;
  readonly toolNames: string;
  /** Id of the newest entry that changes earlier messages. */
  readonly turningPoint: string | undefined;
  readonly messages: readonly ModelMessage[];
}

/**
 * Checks that each request of a session extends the one before, because only then can a provider use its prompt cache.
 * A break is expected after a trim, anchor, reset or retract, with another model or tool list, and when a file changed
 * or older images were left out. Any other break is counted and logged as a warning with its layer and byte.
 */
export class PrefixWatch {
  readonly #log: Logger;
  /** What was sent goes with its session, which leaves memory when it is not used. */
  readonly #seen = new WeakMap<WatchedRequest['session'], Seen>();
  #breaks = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Number of unexpected breaks since the start. */
  get breaks(): number {
    return this.#breaks;
  }

  /** Compares a request with the session's last one; null if it extends that one. */
  check(watched: WatchedRequest): PrefixBreak | null {
    const { session } = watched;
    const before = this.#seen.get(session);
    const now = seen(watched);
    this.#seen.set(session, now);
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

const TURNED = 'a trim, anchor, reset or retract';

const rendered = new WeakMap<object, string>();

/** A value as JSON, cached by object: many calls share the same tools and layers. */
function render(value: object): string {
  let text = rendered.get(value);
  if (text === undefined) {
    text = JSON.stringify(value);
    rendered.set(value, text);
  }
  return text;
}

function seen({ session, modelRef, files, request }: WatchedRequest): Seen {
  return {
    modelRef,
    files: render(files),
    system: render(request.system),
    tools: render(request.tools),
    toolNames: request.tools.map(({ name }) => name).join(' '),
    turningPoint: session.turningPoint,
    messages: request.messages.map(withoutImages),
  };
}

function compare(before: Seen, now: Seen): PrefixBreak | null {
  if (before.modelRef !== now.modelRef) return at('model', before.modelRef, now.modelRef, 'another model');
  if (before.system !== now.system) {
    const isRetracted = before.turningPoint !== now.turningPoint;
    const file = before.files === now.files ? null : 'a changed file';
    return at('system', before.system, now.system, isRetracted ? TURNED : file);
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
  if (before.turningPoint !== now.turningPoint) return TURNED;
  const fewer = other !== undefined && imagesOf(other).length < imagesOf(message).length;
  return fewer ? 'older images that were left out' : null;
}

/** Compares parts by identity first, which almost always suffices, then by their JSON. */
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

/** Replaces the data of images by fingerprints, so that this class does not keep large images in memory. */
function withoutImages(message: ModelMessage): ModelMessage {
  if (message.role === 'tool') {
    return message.images === undefined ? message : { ...message, images: message.images.map(fingerprint) };
  }
  if (message.role !== 'user' || !message.content.some((part) => part.type === 'image')) return message;
  return { role: 'user', content: message.content.map((part) => (part.type === 'image' ? fingerprint(part) : part)) };
}

/** Length, beginning, middle and end of an image's data; an image stored by hash stays as it is. */
function fingerprint(image: ImagePart): ImagePart {
  if (!('data' in image)) return image;
  const { data } = image;
  const middle = Math.floor(data.length / 2);
  const parts = [data.slice(0, 48), data.slice(middle, middle + 48), data.slice(-48)];
  // A copy: a slice would keep the whole string in memory.
  return { ...image, data: Buffer.from(`${data.length}:${parts.join('…')}`).toString() };
}
