import type { ClientBase, Pool, PoolClient } from 'pg';
import { type Clock, deadline, raceAbort } from '../../core/util/clock.ts';
import { errorCode } from '../../core/util/errors.ts';

/** After one primary answered, the others get this long to say that they were promoted later; ms. */
const OTHERS_MS = 1_000;

/** What a connection leads to. Of two primaries of one system, the one with the higher timeline was promoted later. */
interface Place {
  readonly system: string;
  readonly timeline: number;
}

/** The connections to the server that was found to be the primary. */
export interface Primary {
  readonly pool: Pool;
  readonly place: Place;
}

export interface ServersOptions {
  /** Makes a pool for one server, which calls `check` with each new connection before that is used. */
  readonly open: (url: string, check: (client: ClientBase) => Promise<void>) => Pool;
  /** What is wrong with the connection to one server. */
  readonly said: (error: unknown, url: string) => string;
  readonly clock: Clock;
}

/**
 * The servers that one address names, of which one is the primary. No connection to a standby is used, and none to an earlier
 * primary that does not know yet that another one was promoted. After a failure all are asked again.
 */
export class Servers {
  readonly #options: ServersOptions;
  readonly #urls: readonly string[];
  readonly #places = new WeakMap<ClientBase, Place>();
  #latest: Place | undefined;
  #primary: Promise<Primary> | undefined;
  #closed = false;

  constructor(url: string, options: ServersOptions) {
    this.#urls = serversOf(url);
    this.#options = options;
  }

  get areSeveral(): boolean {
    return this.#urls.length > 1;
  }

  /** The primary; rejects when there is none. */
  primary(): Promise<Primary> {
    const primary = (this.#primary ??= this.#find());
    primary.catch(() => this.#forget(primary));
    return primary;
  }

  /** A connection to it; to be released as one of a pool. */
  async connect({ pool }: Primary): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect();
      const place = this.#places.get(client);
      if (place === undefined || !this.#isEarlier(place)) return client;
      client.release(true);
    }
  }

  /** Call it when a server failed: the next call asks all again. */
  async failed(primary: Primary): Promise<void> {
    const current = this.#primary;
    if ((await current?.catch(() => undefined)) === primary && current !== undefined) this.#forget(current);
  }

  /** Whether another server was promoted, which is used from then on. Call it when the primary does not answer. */
  async isReplaced(primary: Primary): Promise<boolean> {
    const found = await this.#find().catch(() => undefined);
    if (found === undefined) return false;
    if (!this.#isEarlier(primary.place)) {
      end(found.pool);
      return false;
    }
    if (this.#closed || (await this.#primary?.catch(() => undefined)) !== primary) end(found.pool);
    else this.#primary = Promise.resolve(found);
    end(primary.pool);
    return true;
  }

  /** Resolves when all connections are closed, those in use after their calls. */
  async close(): Promise<void> {
    this.#closed = true;
    const primary = await this.#primary?.catch(() => undefined);
    await primary?.pool.end();
  }

  #forget(primary: Promise<Primary>): void {
    if (this.#primary !== primary) return;
    this.#primary = undefined;
    primary.then(({ pool }) => end(pool)).catch(() => {});
  }

  /** Asks all servers. */
  async #find(): Promise<Primary> {
    const asked = this.#urls.map((url) => this.#ask(url));
    const found: Primary[] = [];
    const all = Promise.allSettled(asked.map(async (one) => void found.push(await one)));
    try {
      await Promise.any(asked);
    } catch (error) {
      throw error instanceof AggregateError ? this.#why(error.errors) : error;
    }
    using limit = deadline(this.#options.clock, OTHERS_MS, 'asking the other servers');
    await raceAbort(all, limit.signal).catch(() => {});
    const best = found.find(({ place }) => !this.#isEarlier(place)) ?? found[0];
    for (const one of asked) one.then((late) => late !== best && end(late.pool)).catch(() => {});
    if (best === undefined) throw new Error('no server is the primary');
    if (this.#closed) end(best.pool);
    return best;
  }

  async #ask(url: string): Promise<Primary> {
    const pool = this.#options.open(url, (client) => this.#check(client));
    try {
      const client = await pool.connect();
      client.release();
      return { pool, place: this.#places.get(client) ?? UNKNOWN };
    } catch (error) {
      end(pool);
      throw error;
    }
  }

  /** Rejects when the connection leads to no primary, or to an earlier one. */
  async #check(client: ClientBase): Promise<void> {
    const place = await placeOf(client);
    if (place === null) throw new Error('the server is a standby');
    if (this.#isEarlier(place)) throw new Error('another server was promoted since this one was the primary');
    this.#places.set(client, place);
    this.#latest = place;
  }

  /** A server of another system, such as one that was restored from a dump, is no earlier one. */
  #isEarlier({ system, timeline }: Place): boolean {
    return this.#latest?.system === system && timeline < this.#latest.timeline;
  }

  #why(errors: readonly unknown[]): unknown {
    if (errors.length === 1) return errors[0];
    // A wrong password is what the person has to know.
    const refusal = errors.find((error) => errorCode(error)?.startsWith('28'));
    const said = (error: unknown, url = ''): string => `${hostOf(url)}: ${this.#options.said(error, url)}`;
    return refusal ?? new Error(errors.map((error, n) => said(error, this.#urls[n])).join('; '));
  }
}

const UNKNOWN: Place = { system: '', timeline: 0 };

function end(pool: Pool): void {
  if (!pool.ending) pool.end().catch(() => {});
}

/** Null: the server is a standby. A database that only speaks like PostgreSQL has no timelines. */
async function placeOf(client: ClientBase): Promise<Place | null> {
  const ask = async (text: string): Promise<Readonly<Record<string, unknown>> | undefined> =>
    (await client.query<Record<string, unknown>>(text)).rows[0];
  try {
    const row = await ask(
      `SELECT system_identifier::text AS system, CASE WHEN pg_is_in_recovery() THEN NULL
        ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS timeline FROM pg_control_system()`,
    );
    const timeline = row?.['timeline'];
    return typeof timeline === 'string' ? { system: String(row?.['system']), timeline: parseInt(timeline, 16) } : null;
  } catch (error) {
    // Not there, not supported or not allowed.
    if (!/^(?:0A|42)/u.test(errorCode(error) ?? '')) throw error;
    const row = await ask('SELECT pg_is_in_recovery() AS is_standby');
    return row?.['is_standby'] === true ? null : UNKNOWN;
  }
}

/**
 * The address of each server, of one that names several as `psql` takes it: `postgres://user@a:5432,b/database`, or with
 * sockets `?host=/a,/b&port=5432`.
 */
export function serversOf(url: string): readonly string[] {
  const [, before = '', between = '', after = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/su.exec(url) ?? [];
  const named = between.split(',');
  if (named.length > 1) return named.map((one) => before + one + after);
  const hosts = listIn(url, 'host');
  const ports = listIn(url, 'port');
  if (hosts.length < 2) return [url];
  return hosts.map((host, n) => withValue(withValue(url, 'host', host), 'port', ports[n] ?? ports[0]));
}

function listIn(url: string, name: string): readonly string[] {
  const [, value = ''] = new RegExp(`[?&]${name}=([^&#]*)`, 'u').exec(url) ?? [];
  return value === '' ? [] : decodeURIComponent(value).split(',');
}

function withValue(url: string, name: string, value: string | undefined): string {
  return url.replace(
    new RegExp(`([?&]${name}=)[^&#]*`, 'u'),
    (_, key: string) => key + encodeURIComponent(value ?? ''),
  );
}

/** Without the user and the password. */
function hostOf(url: string): string {
  return listIn(url, 'host')[0] ?? /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/u.exec(url)?.[1] ?? '';
}
