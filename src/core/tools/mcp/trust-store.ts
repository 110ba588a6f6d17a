import { basename } from 'node:path';
import * as z from 'zod';
import { quarantine, readIfExists, replaceDurable } from '../../storage/files.ts';
import { listingSchema, NO_LISTING, type Listing } from './listing.ts';

const pinSchema = z.object({
  /** Of what the configuration starts or reaches; another one is another server. */
  identity: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  listing: listingSchema,
});
const fileSchema = z.object({ version: z.literal(1), servers: z.record(z.string(), pinSchema) });

export type Pin = z.output<typeof pinSchema>;

export interface TrustStoreOptions {
  readonly path: string;
  /** Where a damaged file goes. */
  readonly quarantine: string;
  /** The servers of the configuration with their identities. */
  readonly identities: Readonly<Record<string, string>>;
  readonly now: () => number;
  /** Told once when the file was damaged. */
  readonly onDamage: (kept: string) => void;
}

/** What each server offered when the owner agreed to it: one small file, replaced as a whole. */
export class TrustStore {
  readonly #options: TrustStoreOptions;
  readonly #servers: Map<string, Pin>;
  readonly #identities: Map<string, string>;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: TrustStoreOptions, servers: Readonly<Record<string, Pin>>) {
    this.#options = options;
    this.#servers = new Map(Object.entries(servers));
    this.#identities = new Map(Object.entries(options.identities));
  }

  /** A damaged file is kept aside, and nothing counts as agreed to: who damaged it may have wanted a first contact. */
  static async read(options: TrustStoreOptions): Promise<TrustStore> {
    const text = await readIfExists(options.path);
    if (text === undefined) return new TrustStore(options, {});
    const parsed = fileSchema.safeParse(parse(text));
    if (parsed.success) return new TrustStore(options, parsed.data.servers);
    const kept = await quarantine(options.quarantine, basename(options.path), Buffer.from(text));
    options.onDamage(kept);
    const nothing = Object.entries(options.identities).map(([name, identity]) => {
      return [name, { identity, at: options.now(), listing: NO_LISTING }] as const;
    });
    const pins = new TrustStore(options, Object.fromEntries(nothing));
    await pins.#write();
    return pins;
  }

  /** From now on the configuration names this server by that name. */
  identify(server: string, identity: string): void {
    this.#identities.set(server, identity);
  }

  /** Undefined where there was no first contact with what the configuration names now. */
  get(server: string): Pin | undefined {
    const pin = this.#servers.get(server);
    return pin?.identity === this.#identities.get(server) ? pin : undefined;
  }

  /** Durable when it resolves; on failure nothing has changed. */
  async put(server: string, listing: Listing): Promise<void> {
    const before = this.#servers.get(server);
    const identity = this.#identities.get(server) ?? '';
    this.#servers.set(server, { identity, at: this.#options.now(), listing });
    try {
      await this.#write();
    } catch (error) {
      if (before === undefined) this.#servers.delete(server);
      else this.#servers.set(server, before);
      throw error;
    }
  }

  #write(): Promise<void> {
    const data = (): string =>
      `${JSON.stringify({ version: 1, servers: Object.fromEntries(this.#servers) } satisfies z.input<typeof fileSchema>)}\n`;
    const written = this.#writing.then(() => replaceDurable(this.#options.path, data()));
    this.#writing = written.catch(() => {});
    return written;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
