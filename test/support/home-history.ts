import { Postgres } from '../../src/host/homes/postgres.ts';
import { systemClock } from '../../src/core/util/clock.ts';

/** A gateway took a home or gave it back. */
export interface Change {
  readonly home: string;
  /** The gateway's name; its connections name it. */
  readonly by: string;
  readonly kind: 'claimed' | 'released';
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Until when the owner before had it. */
  readonly leaseEnd: number;
}

/**
 * PostgreSQL notes who takes and gives back a home, and at each claim what the next owner finds unsettled: what may have been
 * sent although its row does not say so. A write by another gateway than the one that claimed the home last is noted too.
 */
const NOTES = `
CREATE TABLE public.changes (
  id bigserial PRIMARY KEY, home text, by text, kind text, at timestamptz, lease_end timestamptz
);
CREATE INDEX changes_home ON public.changes (home, id);
CREATE TABLE public.unsettled (home text, state text, payload text, turn_id text);
CREATE TABLE public.wrong_writes (home text, by text, at timestamptz, what text);

CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.epoch <> OLD.epoch THEN
    INSERT INTO public.changes (home, by, kind, at, lease_end)
    VALUES (NEW.name, current_setting('application_name'), 'claimed', clock_timestamp(), OLD.lease_until);
    INSERT INTO public.unsettled SELECT home, state, payload, turn_id FROM assistant.journal_outbound
    WHERE home = NEW.name AND state IN ('pending', 'sending', 'uncertain', 'streaming');
  ELSIF NEW.owner IS NULL AND OLD.owner IS NOT NULL THEN
    INSERT INTO public.changes (home, by, kind, at, lease_end)
    VALUES (NEW.name, current_setting('application_name'), 'released', clock_timestamp(), NEW.lease_until);
  END IF;
  IF NEW.epoch < OLD.epoch OR NEW.revision NOT IN (OLD.revision, OLD.revision + 1) THEN
    INSERT INTO public.wrong_writes VALUES (NEW.name, current_setting('application_name'), clock_timestamp(),
      format('epoch %s to %s, revision %s to %s', OLD.epoch, NEW.epoch, OLD.revision, NEW.revision));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note AFTER UPDATE ON assistant.homes FOR EACH ROW EXECUTE FUNCTION public.note();

CREATE FUNCTION public.check_writer() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE
  written text := CASE TG_OP WHEN 'DELETE' THEN OLD.home ELSE NEW.home END;
  claimer text := (SELECT by FROM public.changes WHERE home = written AND kind = 'claimed' ORDER BY id DESC LIMIT 1);
BEGIN
  IF claimer <> current_setting('application_name') THEN
    INSERT INTO public.wrong_writes VALUES (written, current_setting('application_name'), clock_timestamp(),
      format('%s of %s, which %s had', TG_OP, TG_TABLE_NAME, claimer));
  END IF;
  RETURN NULL;
END $$;
DO $$ DECLARE one text; BEGIN
  FOR one IN SELECT table_name FROM information_schema.columns
    WHERE table_schema = 'assistant' AND column_name = 'home' AND table_name <> 'epochs'
  LOOP
    EXECUTE format('CREATE TRIGGER check_writer AFTER INSERT OR UPDATE OR DELETE ON assistant.%I
      FOR EACH ROW EXECUTE FUNCTION public.check_writer()', one);
  END LOOP;
END $$;`;

const MS = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;
const CHANGE = `home, by, kind, ${MS('at')} AS at, ${MS('coalesce(lease_end, at)')} AS "leaseEnd"`;

/** What a database notes of its homes, from the outside. */
export class HomeHistory implements AsyncDisposable {
  readonly #postgres: Postgres;

  private constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  /** The database has the homes, and no gateway has claimed one yet. */
  static async begin(url: string): Promise<HomeHistory> {
    const postgres = await Postgres.open(url, { clock: systemClock });
    await postgres.query(NOTES);
    return new HomeHistory(postgres);
  }

  /** What changed, oldest first; `since`: ms since 1970. */
  async changes(since = 0): Promise<readonly Change[]> {
    const rows = await this.#postgres.query(
      `SELECT ${CHANGE} FROM public.changes WHERE at > to_timestamp($1::float8 / 1000) ORDER BY id`,
      [since],
    );
    return rows as unknown as readonly Change[];
  }

  /** Which gateway claimed each home last. */
  async holders(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#postgres.query(
      'SELECT DISTINCT ON (home) home, by, kind FROM public.changes ORDER BY home, id DESC',
    );
    const held = rows.filter(({ kind }) => kind === 'claimed');
    return new Map(held.map(({ home, by }) => [String(home), String(by)]));
  }

  /** Whether the gateway of a machine noted lately that it is there. */
  async sees(folder: string): Promise<boolean> {
    const rows = await this.#postgres.query(
      'SELECT 1 FROM assistant.gateways WHERE starts_with(name, $1) AND seen_until > clock_timestamp()',
      [`${folder} on `],
    );
    return rows.length > 0;
  }

  /** Writes that left out a revision, came twice, or came from a gateway that had lost the home. */
  async wrongWrites(): Promise<readonly unknown[]> {
    return await this.#postgres.query('SELECT * FROM public.wrong_writes ORDER BY at LIMIT 100');
  }

  /** What the owners after each claim found unsettled. */
  async unsettled(home: string): Promise<{ readonly texts: readonly string[]; readonly turns: readonly string[] }> {
    const rows = await this.#postgres.query('SELECT * FROM public.unsettled WHERE home = $1', [home]);
    const text = (row: (typeof rows)[number]): string =>
      (JSON.parse(String(row['payload'])) as { readonly text?: string }).text ?? '';
    return {
      texts: rows.filter(({ state }) => state !== 'streaming').map(text),
      turns: rows.filter(({ state }) => state === 'streaming').map((row) => String(row['turn_id'])),
    };
  }

  /**
   * Messages, turns and replies of all homes that have not come to an end, each with its home and state. What is said of the database
   * itself is none of them: it may come at any time, also right before the end.
   */
  async open(): Promise<readonly string[]> {
    const rows = await this.#postgres.query(
      `SELECT concat_ws(' ', home, 'message', state, payload) AS what FROM assistant.journal_inbound
         WHERE state IN ('accepted', 'running')
       UNION ALL SELECT concat_ws(' ', home, 'turn', state, id) FROM assistant.journal_turns
         WHERE state IN ('running', 'stopping')
       UNION ALL SELECT concat_ws(' ', home, kind, state, payload) FROM assistant.journal_outbound
         WHERE state IN ('pending', 'sending', 'uncertain') AND id NOT LIKE 'storage:%'`,
    );
    return rows.map(({ what }) => String(what).slice(0, 300));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#postgres[Symbol.asyncDispose]();
  }
}
