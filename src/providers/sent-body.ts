import { AsyncLocalStorage } from 'node:async_hooks';
import { webcrypto } from 'node:crypto';

/** What is known of the body of one request. */
export interface BodyFacts {
  /** SHA-256 of its bytes as they were sent, in hex; null: no request left. */
  readonly body: string | null;
  readonly bytes: number;
}

const NOTHING: BodyFacts = { body: null, bytes: 0 };

/** SDKs take no note of who called them; the asynchronous context does. */
const calls = new AsyncLocalStorage<SentBody>();

/** The body that an SDK sends in one call. Hashed in the thread pool while the server thinks. */
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
  const bytes = Buffer.from(text);
  const digest = await webcrypto.subtle.digest('SHA-256', bytes);
  return { body: Buffer.from(digest).toString('hex'), bytes: bytes.length };
}
