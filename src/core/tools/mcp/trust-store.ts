import { basename } from 'node:path';
import * as z from 'zod';
import { quarantine, readIfExists, replaceDurable } from '../../storage/files.ts';
import { listingSchema, type Listing } from './listing.ts';

const pinSchema = z.object({
  /** Hash of what the configuration starts or reaches; another one is another server. */
  identity: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  listing: listingSchema,
});
const fileSchema = z.object({ version: z.literal(1), servers: z.record(z.string(), pinSchema) });

/** What the owner agreed to, and when. */
export type Pin = z.output<typeof pinSchema>;

/** What each server offered when the owner agreed to it: one small file, replaced as a whole. */
export class TrustStore {
  readonly #path: string;
  #servers: Readonly<Record<string, Pin>>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, servers: Readonly<Record<string, Pin>>) {
    this.#path = path;
    this.#servers = servers;
  }

  /**
   * A damaged file is kept aside (`onDamage`), and nothing of the `configured` servers (identities by name) counts as
   * agreed to then: who damaged it may have wanted a first contact.
   */
  static async read(options: {
    readonly path: string;
    /** Where a damaged file goes. */
    readonly quarantine: string;
    readonly configured: Readonly<Record<string, string>>;
    readonly at: number;
    readonly onDamage: (kept: string) => void;
  }): Promise<TrustStore> {
    const { path, configured, at } = options;
    const text = await readIfExists(path);
    if (text === undefined) return new TrustStore(path, {});
    const { data } = z.string().transform(parsed).pipe(fileSchema).safeParse(text);
    if (data !== undefined) return new TrustStore(path, data.servers);
    options.onDamage(await quarantine(options.quarantine, basename(path), Buffer.from(text)));
    const listing: Listing = { tools: [], resources: false, prompts: false };
    const nothing = Object.entries(configured).map(([name, identity]) => [name, { identity, at, listing }] as const);
    const store = new TrustStore(path, Object.fromEntries(nothing));
    await store.#write();
    return store;
  }

  /** Undefined when there was no first contact with what the configuration names now. */
  get(server: string, identity: string): Pin | undefined {
    const pin = Object.hasOwn(this.#servers, server) ? this.#servers[server] : undefined;
    return pin?.identity === identity ? pin : undefined;
  }

  /** Durable when it resolves; on failure nothing has changed. */
  async put(server: string, pin: Pin): Promise<void> {
    const before = this.#servers[server];
    this.#servers = { ...this.#servers, [server]: pin };
    try {
      await this.#write();
    } catch (error) {
      const { [server]: _failed, ...others } = this.#servers;
      this.#servers = before === undefined ? others : { ...others, [server]: before };
      throw error;
    }
  }

  #write(): Promise<void> {
    const written = this.#writing.then(() =>
      replaceDurable(this.#path, `${JSON.stringify({ version: 1, servers: this.#servers })}\n`),
    );
    this.#writing = written.catch(() => {});
    return written;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
