import { basename } from 'node:path';
import * as z from 'zod';
import type { App } from '../../core/api.ts';
import { quarantine, readIfExists, replaceDurable } from '../../core/api-files.ts';
import { listingSchema } from './listing.ts';

const pinSchema = z.object({
  /** Hash of what the configuration starts or reaches; another one is another server. */
  identity: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  listing: listingSchema,
  /** Names of its tools of which the owner agreed that they only read; null: nobody was asked yet. */
  readOnly: z.array(z.string()).readonly().nullable().default(null),
});
const fileSchema = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.object({ version: z.literal(1), servers: z.record(z.string(), pinSchema) }));

/** What the owner agreed to, and when. */
export type Pin = z.output<typeof pinSchema>;

/** What each server offered when the owner agreed to it: one small file, replaced as a whole. */
export class TrustStore {
  readonly #path: string;
  #servers: ReadonlyMap<string, Pin> = new Map();
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * A damaged file is kept aside, and nothing of the `configured` servers (identities by name) counts as agreed to then:
   * who damaged it may have wanted a first contact.
   */
  static async read(
    { paths, clock, log }: Pick<App, 'paths' | 'clock' | 'log'>,
    configured: Readonly<Record<string, string>>,
  ): Promise<TrustStore> {
    const store = new TrustStore(paths.mcpPins);
    const text = await readIfExists(store.#path);
    if (text === undefined) return store;
    try {
      store.#servers = new Map(Object.entries(fileSchema.parse(text).servers));
    } catch {
      const kept = await quarantine(paths.quarantine, basename(store.#path), Buffer.from(text));
      log.error('mcp: the file of agreed tools was damaged; they are off until you agree again', { kept });
      const nothing = { at: clock.now(), listing: { tools: [], resources: false, prompts: false }, readOnly: null };
      for (const [name, identity] of Object.entries(configured)) await store.put(name, { identity, ...nothing });
    }
    return store;
  }

  /** Undefined when there was no first contact with what the configuration names now. */
  get(server: string, identity: string): Pin | undefined {
    const pin = this.#servers.get(server);
    return pin?.identity === identity ? pin : undefined;
  }

  /** Durable when it resolves; on failure nothing has changed. */
  put(server: string, pin: Pin): Promise<void> {
    const written = this.#writing.then(async () => {
      const servers = new Map([...this.#servers, [server, pin]]);
      await replaceDurable(this.#path, `${JSON.stringify({ version: 1, servers: Object.fromEntries(servers) })}\n`);
      this.#servers = servers;
    });
    this.#writing = written.catch(() => {});
    return written;
  }
}
