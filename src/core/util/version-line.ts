import { localMinute } from './time-zone.ts';

/** An earlier text of a file, as far as a list shows it. */
interface ListedVersion {
  readonly id: string;
  /** When it was kept, milliseconds since 1970. */
  readonly at: number;
  /** Why it was replaced, or what it was proposed for. */
  readonly reason: string;
  /** Bytes. */
  readonly size: number;
  readonly kind: 'kept' | 'proposed';
}

/** One line about an earlier text, for lists in terminals and chats; begins with its id. `timezone` as in `localTime`. */
export function versionLine({ id, at, size, kind, reason }: ListedVersion, timezone: string | null): string {
  const what = kind === 'proposed' ? `proposed, not used: ${reason}` : `replaced by: ${reason}`;
  return `${id}  ${localMinute(at, timezone)}  ${String(size).padStart(7)} bytes  ${what}`;
}
