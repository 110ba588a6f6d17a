import type { Row } from '../storage/database.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import type { Random } from '../util/random.ts';
import { cut, plural } from '../util/text.ts';
import type { Outbox } from './outbox.ts';
import type { People, Person } from './people.ts';
import type { JournalDatabase } from './rows.ts';

/** A pairing code that was sent to a person and has not expired. */
export interface PairingRequest {
  readonly channel: string;
  readonly id: string;
  readonly name: string | null;
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An unknown person who wrote in a direct chat. Holds nothing of their message. */
export interface PairingAttempt {
  readonly channel: string;
  readonly senderId: string;
  readonly name?: string;
  readonly chatId: string;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** 32 characters, so that a random byte gives each the same chance; without 0, 1, I and O, which are easily confused. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';
const CODE_LENGTH = 8;
const CODE_MS = 10 * MINUTE_MS;
/** Shortest time between two codes for the same person. */
const EVERY_MS = HOUR_MS;
/** Most codes of a channel that wait for approval at the same time. */
const MOST_PENDING = 3;
/** Most codes that a channel sends in an hour, to all people together. */
const MOST_HOURLY = 10;
const LONGEST_NAME = 60;

/** After this many wrong codes within an hour, every code is refused for `LOCK_MS`. */
const MOST_WRONG = 5;
const LOCK_MS = 15 * MINUTE_MS;

/** Pairing codes: gives them to unknown people and checks them. Of such a person it stores name, id and chat, no messages. */
export class PairingCodes {
  readonly #journal: JournalDatabase;
  readonly #outbox: Outbox;
  readonly #people: People;
  readonly #random: Random;

  constructor(journal: JournalDatabase, outbox: Outbox, people: People, random: Random) {
    this.#journal = journal;
    this.#outbox = outbox;
    this.#people = people;
    this.#random = random;
  }

  /** Sends an unknown person a code. False when a limit forbids it; true when code and message are durable in the journal. */
  async requestPairing(attempt: PairingAttempt): Promise<boolean> {
    if (!this.#mayHaveCode(attempt)) return false;
    return await this.#journal.db.write(() => this.#mayHaveCode(attempt) && this.#giveCode(attempt));
  }

  /** Codes that may be approved, oldest first. */
  pending(): readonly PairingRequest[] {
    const { db, clock } = this.#journal;
    return db
      .all('SELECT * FROM pairing WHERE expires_at > ? ORDER BY created_at, channel, user_id', clock.now())
      .map((row) => ({
        channel: row.text('channel'),
        id: row.text('user_id'),
        name: row.textOrNull('name'),
        code: row.text('code'),
        expiresAt: row.number('expires_at'),
      }));
  }

  /** End of the lock after wrong codes, in milliseconds since 1970; null: not locked. */
  lockedUntil(): number | null {
    const { db, clock } = this.#journal;
    const until = db.get('SELECT locked_until FROM pairing_tries')?.number('locked_until') ?? 0;
    const now = clock.now();
    // A clock that was set back must not lock for longer.
    return until > now && until <= now + LOCK_MS ? until : null;
  }

  /**
   * Gives the person who received this code a role, and sends them one notice. Throws an `AppError`: `pairing-code` when no
   * such code waits, `pairing-locked` after too many wrong codes.
   */
  async approve(code: string, { by, role }: Pick<Person, 'role'> & { readonly by: string }): Promise<Person> {
    const { db } = this.#journal;
    const outcome = await db.write(() => {
      if (this.lockedUntil() !== null) return 'locked';
      const row = this.#waiting(code);
      return row === undefined ? this.#wrong() : this.#admit(row, { by, role });
    });
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'locked') throw this.#locked();
    throw new AppError(
      'pairing-code',
      `No code like that is waiting. Codes expire after ${CODE_MS / MINUTE_MS} minutes. After ${plural(outcome, 'more wrong code', 'more wrong codes')}, pairing is locked for ${LOCK_MS / MINUTE_MS} minutes.`,
    );
  }

  #mayHaveCode({ channel, senderId }: PairingAttempt): boolean {
    const { db, clock } = this.#journal;
    const now = clock.now();
    const recent = db.all(
      'SELECT user_id, expires_at FROM pairing WHERE channel = ? AND created_at > ? AND created_at <= ?',
      channel,
      now - EVERY_MS,
      now,
    );
    if (recent.length >= MOST_HOURLY || recent.some((row) => row.text('user_id') === senderId)) return false;
    return recent.filter((row) => row.number('expires_at') > now).length < MOST_PENDING;
  }

  #giveCode({ channel, senderId, name, chatId }: PairingAttempt): true {
    const { db, clock, newId } = this.#journal;
    const now = clock.now();
    const code = this.#newCode();
    db.run('DELETE FROM pairing WHERE created_at <= ? OR created_at > ?', now - EVERY_MS, now);
    db.run(
      'INSERT OR REPLACE INTO pairing (channel, user_id, chat, name, code, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      channel,
      senderId,
      chatId,
      name === undefined ? null : cut(name, LONGEST_NAME),
      code,
      now,
      now + CODE_MS,
    );
    this.#outbox.insert(
      notice({
        id: `pairing:${newId()}`,
        channel,
        chatId,
        text: `I do not know you, so I do not read your messages. Your id here is ${channel}:${senderId}. To get access, give my owner this code: \`${code}\`. They run \`${assistantCommand(`pair approve ${code}`)}\` on my machine, or send me \`/pair ${code}\`. The code expires in ${CODE_MS / MINUTE_MS} minutes.`,
        expiresAt: now + CODE_MS,
      }),
    );
    return true;
  }

  #newCode(): string {
    const bytes = this.#random.bytes(CODE_LENGTH);
    return [...bytes].map((byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
  }

  /** Finds a code that has not expired. Lower case, spaces and dashes are accepted. */
  #waiting(code: string): Row | undefined {
    const { db, clock } = this.#journal;
    const typed = code.toUpperCase().replace(/[\s-]/gu, '');
    return db.get('SELECT * FROM pairing WHERE code = ? AND expires_at > ?', typed, clock.now());
  }

  #admit(row: Row, { by, role }: Pick<Person, 'role'> & { readonly by: string }): Person {
    const { db, clock, newId } = this.#journal;
    const now = clock.now();
    const channel = row.text('channel');
    const person: Person = {
      channel,
      id: row.text('user_id'),
      name: row.textOrNull('name'),
      role,
      addedAt: now,
      addedBy: by,
    };
    this.#people.insert(person);
    db.run('DELETE FROM pairing WHERE channel = ? AND user_id = ?', channel, person.id);
    db.run('DELETE FROM pairing_tries');
    this.#outbox.insert(
      notice({
        id: `paired:${newId()}`,
        channel,
        chatId: row.text('chat'),
        text: 'You can write to me now. Please send again what you wrote before: I did not receive it.',
        expiresAt: now + DAY_MS,
      }),
    );
    return person;
  }

  /** Counts a wrong code; returns how many more may follow before the lock. */
  #wrong(): number | 'locked' {
    const { db, clock } = this.#journal;
    const now = clock.now();
    const row = db.get('SELECT wrong, since FROM pairing_tries');
    const since = row?.number('since') ?? now;
    const isRecent = since <= now && now - since < HOUR_MS;
    const wrong = (isRecent ? (row?.number('wrong') ?? 0) : 0) + 1;
    const isLocked = wrong >= MOST_WRONG;
    db.run(
      'INSERT OR REPLACE INTO pairing_tries (one, wrong, since, locked_until) VALUES (1, ?, ?, ?)',
      isLocked ? 0 : wrong,
      isRecent ? since : now,
      isLocked ? now + LOCK_MS : 0,
    );
    return isLocked ? 'locked' : MOST_WRONG - wrong;
  }

  #locked(): AppError {
    const leftMs = (this.lockedUntil() ?? 0) - this.#journal.clock.now();
    const minutes = plural(Math.max(1, Math.ceil(leftMs / MINUTE_MS)), 'minute');
    return new AppError(
      'pairing-locked',
      `${MOST_WRONG} codes were wrong, so pairing is locked for ${minutes}: until then even a right code is refused.`,
    );
  }
}

function notice({ id, channel, chatId, text, expiresAt }: Notice): Parameters<Outbox['insert']>[0] {
  return { message: { id, channel, chatId, kind: 'notice', text, media: [], expiresAt, metadata: {} }, parts: [] };
}

interface Notice {
  readonly id: string;
  readonly channel: string;
  readonly chatId: string;
  readonly text: string;
  readonly expiresAt: number;
}
