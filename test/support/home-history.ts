import { Postgres } from '../../src/homes/postgres.ts';
import { systemClock } from '../../src/util/clock.ts';

/** Who claimed the home and when, ms since 1970. */
export interface Claim {
  readonly epoch: number;
  readonly owner: string;
  readonly at: number;
  /** Until when the owner before had it. */
  readonly leaseEnd: number;
}

/**
 * PostgreSQL notes each change of the row of a home, and at each claim what the next owner finds unsettled: what may have been
 * sent although its row does not say so.
 */
const NOTES = `
CREATE TABLE public.history (
  id bigserial PRIMARY KEY, at timestamptz, epoch bigint, revision bigint, owner text, was_epoch bigint,
  was_revision bigint, was_until timestamptz
);
CREATE TABLE public.unsettled (state text, payload text, turn_id text);
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO public.history (at, epoch, revision, owner, was_epoch, was_revision, was_until)
  VALUES (clock_timestamp(), NEW.epoch, NEW.revision, NEW.owner, OLD.epoch, OLD.revision, OLD.lease_until);
  IF NEW.epoch <> OLD.epoch THEN
    INSERT INTO public.unsettled SELECT state, payload, turn_id FROM assistant.journal_outbound
    WHERE state IN ('pending', 'sending', 'uncertain', 'streaming');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON assistant.homes FOR EACH ROW EXECUTE FUNCTION public.note();`;

const MS = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** What a database notes of its one home, from the outside. */
export class HomeHistory implements AsyncDisposable {
  readonly #postgres: Postgres;

  private constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  /** The home must have been claimed once: that claim is in the history too. */
  static async begin(url: string): Promise<HomeHistory> {
    const postgres = await Postgres.open(url, { clock: systemClock });
    await postgres.query(NOTES);
    await postgres.query(
      `INSERT INTO public.history (at, epoch, revision, owner, was_epoch, was_revision, was_until)
       SELECT now(), epoch, revision, owner, 0, revision, now() FROM assistant.homes`,
    );
    return new HomeHistory(postgres);
  }

  async epoch(): Promise<number> {
    const [row] = await this.#postgres.query('SELECT epoch FROM assistant.homes');
    return Number(row?.['epoch']);
  }

  /** All claims, oldest first. */
  async claims(): Promise<readonly Claim[]> {
    const rows = await this.#postgres.query(
      `SELECT epoch, owner, ${MS('at')} AS at, ${MS('was_until')} AS "leaseEnd" FROM public.history
       WHERE epoch <> was_epoch ORDER BY id`,
    );
    return rows as unknown as readonly Claim[];
  }

  /** Writes that left out a revision, came twice, or came from an epoch that had ended. */
  async wrongWrites(): Promise<readonly unknown[]> {
    return await this.#postgres.query(
      `SELECT * FROM public.history WHERE epoch < was_epoch OR revision NOT IN (was_revision, was_revision + 1)
       OR epoch < (SELECT max(epoch) FROM public.history AS before WHERE before.id < history.id)`,
    );
  }

  /** What the owners after each claim found unsettled. */
  async unsettled(): Promise<{ readonly texts: readonly string[]; readonly turns: readonly string[] }> {
    const rows = await this.#postgres.query('SELECT * FROM public.unsettled');
    const text = (row: (typeof rows)[number]): string =>
      (JSON.parse(String(row['payload'])) as { readonly text?: string }).text ?? '';
    return {
      texts: rows.filter(({ state }) => state !== 'streaming').map(text),
      turns: rows.filter(({ state }) => state === 'streaming').map((row) => String(row['turn_id'])),
    };
  }

  /** Messages, turns and replies that have not come to an end. */
  async open(): Promise<number> {
    const [row] = await this.#postgres.query(
      `SELECT (SELECT count(*) FROM assistant.journal_inbound WHERE state IN ('accepted', 'running'))
        + (SELECT count(*) FROM assistant.journal_turns WHERE state IN ('running', 'stopping'))
        + (SELECT count(*) FROM assistant.journal_outbound WHERE state IN ('pending', 'sending', 'uncertain')) AS n`,
    );
    return Number(row?.['n']);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#postgres[Symbol.asyncDispose]();
  }
}
