import type { PairedRole } from './messages.ts';

/** A person who got a role by a pairing code. Times are milliseconds since 1970. */
export interface PairedPerson {
  readonly channel: string;
  readonly id: string;
  /** The name that the person chose; not verified. */
  readonly name: string | null;
  readonly role: PairedRole;
  readonly addedAt: number;
  readonly addedBy: string;
}

/** Who may write to the assistant, and who waits for the approval of their code. */
export interface Pairing {
  readonly people: readonly PairedPerson[];
  /** Whom the configuration lets in; the id `*` is everybody. */
  readonly configured: readonly Pick<PairedPerson, 'channel' | 'id' | 'name' | 'role'>[];
  readonly pending: readonly {
    readonly channel: string;
    readonly id: string;
    readonly name: string | null;
    readonly code: string;
    readonly expiresAt: number;
  }[];
  /** Until when no code is accepted, because too many were wrong; null: codes are accepted. */
  readonly lockedUntil: number | null;
  /** Whether at least one channel has an owner. */
  readonly hasOwner: boolean;
}
