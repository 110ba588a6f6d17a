import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { othersFirst } from '../../util/wake.ts';

/** What is known of the body of one request. */
export interface BodyFacts {
  /** SHA-256 of its bytes as they were sent, in hex; null: no request left. */
  readonly body: string | null;
  readonly bytes: number;
}

const NOTHING: BodyFacts = { body: null, bytes: 0 };

/** SDKs take no note of who called them; the asynchronous context does. */
const calls = new AsyncLocalStorage<SentBody>();

/** Characters that are hashed in one go, in a fraction of a millisecond. */
const PIECE = 65_536;

/** The body that an SDK sends in one call. Hashed piece by piece while the server thinks. */
export class SentBody {
  #facts: Promise<BodyFacts> | undefined;

  /** Runs a call; what it sends by `noteBody` is this body. */
  during<T>(call: () => Promise<T>): Promise<T> {
    return calls.run(this, call);
  }

  note(text: string): void {
    this.#facts = factsOf(text);
  }

  /** Never rejects. */
  async facts(): Promise<BodyFacts> {
    return (await this.#facts) ?? NOTHING;
  }
}

/** Called with what an SDK hands to `fetch`, after the request is on its way. */
export function noteBody(body: unknown): void {
  if (typeof body === 'string') calls.getStore()?.note(body);
}

async function factsOf(text: string): Promise<BodyFacts> {
  const hash = createHash('sha256');
  let bytes = 0;
  for (let from = 0; from < text.length;) {
    await othersFirst();
    // A character of two halves is not cut: each half alone would be other bytes.
    const end = from + PIECE;
    const to = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end;
    const piece = Buffer.from(text.slice(from, to));
    hash.update(piece);
    bytes += piece.length;
    from = to;
  }
  return { body: hash.digest('hex'), bytes };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
