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

/** The call that runs now. An SDK's `fetch` does not know for which call it is; the asynchronous context does. */
const calls = new AsyncLocalStorage<SentBody>();

/** Bytes that are hashed at once, which takes a fraction of a millisecond. */
const PIECE = 65_536;

/** The request body that an SDK sends in one call. It is hashed piece by piece while the server works on the answer. */
export class SentBody {
  #facts: Promise<BodyFacts> | undefined;

  /** Runs a call. The body that `noteBody` is given meanwhile becomes this one. */
  during<T>(call: () => Promise<T>): Promise<T> {
    return calls.run(this, call);
  }

  /** Begins to hash the body; a later one replaces it. */
  note(body: Uint8Array): void {
    this.#facts = factsOf(body);
  }

  /** Waits for the hash. Never rejects. */
  async facts(): Promise<BodyFacts> {
    return (await this.#facts) ?? NOTHING;
  }
}

/** Notes the body that an SDK passed to `fetch`, for the call that runs now. Called after the request was sent. */
export function noteBody(body: unknown): void {
  if (body instanceof Uint8Array) calls.getStore()?.note(body);
}

async function factsOf(body: Uint8Array): Promise<BodyFacts> {
  const hash = createHash('sha256');
  for (let from = 0; from < body.length; from += PIECE) {
    await othersFirst();
    hash.update(body.subarray(from, from + PIECE));
  }
  return { body: hash.digest('hex'), bytes: body.length };
}
