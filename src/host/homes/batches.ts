import type { ClientBase, Connection, Query } from 'pg';
import type { Statement } from './statements.ts';

/** The driver's own query. */
type DriverQuery = new (config: { readonly text: string }, answered: (error?: Error | null) => void) => Query;

/** A statement, and the name under which a connection keeps its plan. */
interface Named extends Statement {
  readonly name: string;
}

/** What is sent: `plans` are prepared, `runs` are executed. */
interface Batch {
  readonly plans?: Iterable<Named>;
  readonly runs?: readonly Named[];
}

/**
 * Sends several statements at once, which the server answers at once: without a BEGIN they are one transaction, which ends with the
 * `Sync` behind the last one. As a query of its own each would cost both sides a system call and a wake-up. What the statements return
 * is not read.
 */
export class Batches {
  readonly #send: (client: ClientBase, batch: Batch) => Promise<void>;
  readonly #nameOf = planNames('batch');
  /** What each connection has prepared. */
  readonly #prepared = new WeakMap<ClientBase, Set<string>>();

  constructor(query: DriverQuery) {
    this.#send = senderOf(query);
  }

  /**
   * Runs the statements in one transaction, on a connection that does nothing else. What is asked of the connection in the same tick
   * is sent in the same write.
   */
  async run(client: ClientBase, statements: readonly Statement[]): Promise<void> {
    const runs = statements.map((one) => ({ ...one, name: this.#nameOf(one.text) }));
    const prepared = this.#prepared.get(client) ?? new Set();
    this.#prepared.set(client, prepared);
    const plans = new Map(runs.filter(({ name }) => !prepared.has(name)).map((one) => [one.name, one]));
    const preparing = plans.size === 0 ? undefined : this.#send(client, { plans: plans.values() });
    const running = this.#send(client, { runs });
    running.catch(() => {});
    await preparing;
    for (const name of plans.keys()) prepared.add(name);
    await running;
  }
}

/** Under which name a connection keeps the plan of a text. The texts are constant, so there are few. */
export function planNames(prefix: string): (text: string) => string {
  const names = new Map<string, string>();
  return (text) => {
    const name = names.get(text) ?? `${prefix}_${names.size}`;
    names.set(text, name);
    return name;
  };
}

function senderOf(query: DriverQuery): (client: ClientBase, batch: Batch) => Promise<void> {
  class BatchQuery extends query {
    readonly #batch: Batch;

    constructor(batch: Batch, answered: (error?: Error | null) => void) {
      super({ text: '' }, answered);
      this.#batch = batch;
    }

    override readonly submit = (connection: Connection): void => {
      const { stream } = connection;
      stream.cork();
      process.nextTick(() => stream.uncork());
      for (const { name, text } of this.#batch.plans ?? []) connection.parse({ name, text, types: [] }, true);
      for (const { name, values = [] } of this.#batch.runs ?? []) {
        connection.bind({ statement: name, values: values.map(sentAs) }, true);
        connection.execute(null, true);
      }
      connection.sync();
    };

    handleDataRow(): void {}

    handleCommandComplete(): void {}
  }
  return (client, batch) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    client.query(new BatchQuery(batch, (error) => (error ? reject(error) : resolve())));
    return promise;
  };
}

/** A value as the protocol takes it. */
function sentAs(value: unknown): Buffer | string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TypeError('a value has a type that is not sent');
}

function elementOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('only lists of texts are sent');
  return `"${value.replaceAll(/["\\]/gu, '\\$&')}"`;
}
