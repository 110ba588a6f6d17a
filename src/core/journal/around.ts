import { MESSAGES, toMessage, toTurn, TURNS, type MessageLife, type TurnLife } from './lives.ts';
import { dedupeKey, type JournalDatabase } from './rows.ts';

/** Where a message was written, and the id that the platform gave it. */
type Place = Pick<MessageLife, 'channel' | 'account' | 'chat' | 'externalId'>;

/** A time in which the disk took no writes. Milliseconds since 1970. */
export interface DiskOutage {
  readonly since: number;
  readonly until: number;
}

/** Most messages of a time that are looked through. */
const MOST = 50;

/** Reads what happened around a message and its turn, for people who ask why. */
export class Around {
  readonly #db: JournalDatabase['db'];

  constructor({ db }: Pick<JournalDatabase, 'db'>) {
    this.#db = db;
  }

  /** The edits of a message, in the order in which they came. */
  edits({ channel, account, chat, externalId }: Place): readonly MessageLife[] {
    const id = externalId.replace(/^m:/u, '');
    return this.#db
      .all(
        `${MESSAGES} WHERE channel = ? AND account = ? AND chat = ? AND external_id > ? AND external_id < ?
         ORDER BY external_id LIMIT ${MOST}`,
        channel,
        account,
        chat,
        `e:${id}:`,
        `e:${id};`,
      )
      .map(toMessage)
      .toSorted((a, b) => a.receivedAt - b.receivedAt);
  }

  /**
   * The shortest time, in ms, that one of the newest other messages of a channel took from the clock of its platform to the
   * one here: hardly more than the difference between the clocks. 0: there is none whose platform told when it was sent.
   */
  clockLag({ id, channel }: Pick<MessageLife, 'id' | 'channel'>): number {
    const lags = this.#db
      .all(
        `SELECT received_at - json_extract(payload, '$.metadata.sentAt') AS lag FROM inbound
         WHERE channel = ? AND origin = 'user' AND id <> ? ORDER BY received_at DESC LIMIT ${MOST}`,
        channel,
        id,
      )
      .flatMap((row) => row.numberOrNull('lag') ?? []);
    return lags.length === 0 ? 0 : Math.max(0, Math.min(...lags));
  }

  /** Whether a message was received that is not kept any more. */
  wasReceived({ channel, account, chat, externalId }: Place): boolean {
    const key = dedupeKey(channel, account, chat, externalId);
    return this.#db.get('SELECT 1 FROM dedupe WHERE key = ?', key) !== undefined;
  }

  /** The newest turn of the session before this one that is no chat command. */
  turnBefore({ id, session }: Pick<TurnLife, 'id' | 'session'>): TurnLife | undefined {
    return this.#db
      .all(
        `${TURNS} WHERE session = ? AND id < ? AND (outcome IS NULL OR outcome <> 'command') ORDER BY id DESC LIMIT 1`,
        session,
        id,
      )
      .map(toTurn)[0];
  }

  /** The messages that came while a turn ran and that it does not answer, newest first. */
  cameDuring({ id, session, startedAt, updatedAt }: TurnLife): readonly MessageLife[] {
    return this.#db
      .all(
        `${MESSAGES} WHERE session = ? AND payload IS NOT NULL AND received_at BETWEEN ? AND ?
         ORDER BY received_at DESC LIMIT ${MOST}`,
        session,
        startedAt,
        updatedAt,
      )
      .map(toMessage)
      .filter(({ turn }) => turn !== id);
  }

  /** The times without writes to the disk that the owner was told of, oldest first. Their notices are kept for 90 days. */
  outages(): readonly DiskOutage[] {
    return this.#db
      .all("SELECT id FROM outbound WHERE id > 'storage:' AND id < 'storage;' ORDER BY id")
      .map((row) => row.text('id').split(':').map(Number))
      .map(([, since = NaN, until = NaN]) => ({ since, until }))
      .filter(({ since, until }) => since <= until);
  }
}
