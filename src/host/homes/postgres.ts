import type { ClientBase, ClientConfig, PoolClient } from 'pg';
import type { Clock } from '../../core/util/clock.ts';
import { deadline, raceAbort } from '../../core/util/clock.ts';
import { readStoreAddress, type StoreAddress } from '../../core/storage/store-address.ts';
import { Batches, planNames } from './batches.ts';
import { type Primary, Servers } from './servers.ts';
import type { Statement } from './statements.ts';
import { isRefusal, isStillPrimary, storeFailure, storeTrouble } from './store-failure.ts';
import { TlsFiles } from './tls-files.ts';

/** A row by column names. Numbers of eight bytes are numbers, `bytea` is a Buffer. */
export type StoredRow = Readonly<Record<string, unknown>>;

export interface PostgresOptions {
  readonly clock: Clock;
  /** Most connections at once; one more is opened only when all are in use. @default 4 */
  readonly most?: number;
  /** A call that takes longer is given up, and its connection closed; ms. @default 20 s */
  readonly callMs?: number;
}

const CALL_MS = 20_000;
const CONNECT_MS = 5_000;
/** A call that takes longer may wait for a server that another one has replaced; so often it is looked. */
const SLOW_MS = 2_000;
/** The server ends a transaction whose client is silent for so long: a frozen gateway must not keep a home locked. */
const SILENT_TRANSACTION_MS = 5_000;
/** The server notices within some 10 s that a machine is gone, also in the middle of what that sends. */
const NOTICES_SILENCE = 'SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3';
const CLOSING_MS = 1_000;
const INT8 = 20;

/**
 * The PostgreSQL database that keeps homes. Every failure is an `AppError`: `store-unreachable` when nothing is known of the
 * effect (no connection, too late, the server is stopping), `store-refused` with the server's SQLSTATE in `facts.sqlState`
 * when the server said no.
 */
export class Postgres implements AsyncDisposable {
  readonly #servers: Servers;
  readonly #address: StoreAddress;
  readonly #clock: Clock;
  readonly #callMs: number;
  readonly #batches: Batches;
  /** Connections of which the server notices when their machine is gone. */
  readonly #noticing = new WeakSet<ClientBase>();
  readonly #nameOf = planNames('plan');

  private constructor(
    servers: Servers,
    batches: Batches,
    address: StoreAddress,
    { clock, callMs = CALL_MS }: PostgresOptions,
  ) {
    this.#servers = servers;
    this.#batches = batches;
    this.#address = address;
    this.#clock = clock;
    this.#callMs = callMs;
  }

  /**
   * Loads the driver; connects with the first call. `url`: `postgres://user:password@host/database`, with several hosts when the
   * server has standbys, see `serversOf`. Throws `store-tls` when a file of its TLS is wrong.
   */
  static async open(url: string, options: PostgresOptions): Promise<Postgres> {
    const { default: pg } = await import('pg');
    const address = readStoreAddress(url);
    const tls = address.tls === 'none' ? null : new TlsFiles(address);
    class Client extends pg.Client {
      constructor(config?: ClientConfig) {
        super({ ...config, ssl: tls?.now() ?? false });
      }
    }
    const parsers = {
      getTypeParser: (type: number, format?: 'text' | 'binary'): unknown =>
        type === INT8 ? Number : pg.types.getTypeParser(type, format),
    };
    const { clock, most = 4, callMs = CALL_MS } = options;
    const open = (one: string, check: (client: ClientBase) => Promise<void>): InstanceType<typeof pg.Pool> => {
      const settings = {
        Client,
        connectionString: readStoreAddress(one).url,
        enableChannelBinding: address.bindsChannel,
        max: most,
        // What belongs to one transaction is sent without waiting in between.
        pipeline: true,
        keepAlive: true,
        connectionTimeoutMillis: CONNECT_MS,
        idle_in_transaction_session_timeout: SILENT_TRANSACTION_MS,
        // A call that was given up does not wait in the server for ever.
        lock_timeout: callMs,
        application_name: 'assistant',
        types: parsers,
      };
      // The pool waits for what this returns, which its types do not say.
      const pool = new pg.Pool({ ...settings, onConnect: (client) => check(client) as unknown as undefined });
      // A call that a broken connection belonged to is told by its own error; one that no one uses is replaced by the next call.
      pool.on('error', ignore);
      pool.on('connect', (client) => client.on('error', ignore));
      return pool;
    };
    const said = (error: unknown, one: string): string => storeTrouble(error, readStoreAddress(one));
    return new Postgres(new Servers(url, { open, said, clock }), new Batches(pg.Query), address, options);
  }

  /** Runs one statement by itself. */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly StoredRow[]> {
    return await this.#using((client) => run(client, { text, values }));
  }

  /**
   * Runs the statements in one transaction, sent at once. Resolves with the rows of each when it is committed. After
   * `store-refused` it had no effect; after `store-unreachable` it may have.
   */
  async transaction(statements: readonly Statement[]): Promise<readonly (readonly StoredRow[])[]> {
    return await this.#using(async (client) => {
      const sent = [BEGIN, ...statements, COMMIT].map((one) =>
        run(client, one, one.values === undefined ? undefined : this.#nameOf(one.text)),
      );
      return (await allOf(sent)).slice(1, -1);
    });
  }

  /** Like `transaction` for short statements whose rows are not needed, in one message. */
  async write(statements: readonly Statement[]): Promise<void> {
    await this.#using(async (client) => {
      if (!this.#noticing.has(client)) {
        this.#noticing.add(client);
        // What speaks like PostgreSQL may not have them.
        client.query(NOTICES_SILENCE).catch(ignore);
      }
      await this.#batches.run(client, statements);
    });
  }

  /** Closes all connections; one that is in use closes when its call has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    using limit = deadline(this.#clock, CLOSING_MS, 'closing the connections of PostgreSQL');
    await raceAbort(this.#servers.close(), limit.signal).catch(ignore);
  }

  async #using<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    using limit = deadline(this.#clock, this.#callMs, 'the call of PostgreSQL');
    let primary: Primary | undefined;
    let client: PoolClient | undefined;
    let failure: unknown;
    try {
      primary = await raceAbort(this.#servers.primary(), limit.signal);
      const connecting = this.#servers.connect(primary);
      client = await raceAbort(connecting, limit.signal).catch((error: unknown) => {
        connecting.then((late) => late.release()).catch(() => {});
        throw error;
      });
      if (!this.#servers.areSeveral) return await raceAbort(work(client), limit.signal);
      using slow = this.#whileSlow(primary);
      return await raceAbort(work(client), AbortSignal.any([limit.signal, slow.replaced]));
    } catch (error) {
      failure = error;
      // One that answered, and only cannot serve this now, is the primary still.
      if (primary !== undefined && !isStillPrimary(error)) {
        await this.#servers.failed(primary);
      }
      throw storeFailure(error, this.#address);
    } finally {
      // A connection of which it is not known what it does is closed.
      client?.release(failure !== undefined && !isRefusal(failure));
    }
  }

  /** Looks for another primary again and again. */
  #whileSlow(primary: Primary): { readonly replaced: AbortSignal } & Disposable {
    const ended = new AbortController();
    let timer: Disposable | undefined;
    const look = async (): Promise<void> => {
      if (await this.#servers.isReplaced(primary)) ended.abort(new Error('another server was promoted'));
      else if (!ended.signal.aborted) timer = this.#clock.timer(SLOW_MS, () => void look());
    };
    timer = this.#clock.timer(SLOW_MS, () => void look());
    return {
      replaced: ended.signal,
      [Symbol.dispose]: () => {
        timer?.[Symbol.dispose]();
        ended.abort(new Error('the call has ended'));
      },
    };
  }
}

const ignore = (): void => {};

/**
 * What was sent of a transaction, when all of it is answered. The first failure is the cause; what is after it only says that the
 * transaction is aborted.
 */
async function allOf<T>(sent: readonly Promise<T>[]): Promise<readonly T[]> {
  await Promise.allSettled(sent);
  return await Promise.all(sent);
}

const BEGIN: Statement = { text: 'BEGIN' };
const COMMIT: Statement = { text: 'COMMIT' };

async function run(client: PoolClient, { text, values = [] }: Statement, name?: string): Promise<readonly StoredRow[]> {
  const result = await client.query<StoredRow>({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  // Several statements in one text have several results.
  return Array.isArray(result) ? [] : result.rows;
}
