/** An outbound message that waits or did not arrive. */
export interface OutboxItem {
  readonly id: string;
  readonly channel: string;
  readonly chat: string;
  readonly kind: string;
  readonly state: string;
  /** Why it did not arrive yet; null: no failure so far. */
  readonly reason: string | null;
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The beginning of its text, on one line. */
  readonly text: string;
}

/** An inbound message that waits, is being answered, was refused or was given up. */
export interface InboxItem extends Omit<OutboxItem, 'kind' | 'attempts'> {
  readonly who: string;
}
