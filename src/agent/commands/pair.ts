import { AppError } from '../../util/errors.ts';
import { localMinute } from '../../util/local-time.ts';
import type { Command } from './command.ts';

/** Somebody who was let in by a code. */
interface PairedPerson {
  readonly channel: string;
  readonly id: string;
  readonly name: string | null;
  /** Milliseconds since 1970. */
  readonly addedAt: number;
  readonly addedBy: string;
}

/** Who is let in by a code, who waits for it, and how that changes. What it throws is an `AppError` for people. */
export interface PairingDesk {
  list(): {
    readonly people: readonly PairedPerson[];
    readonly pending: readonly {
      readonly channel: string;
      readonly id: string;
      readonly name: string | null;
      readonly code: string;
      readonly expiresAt: number;
    }[];
    /** Until when no code is taken, milliseconds since 1970. */
    readonly lockedUntil: number | null;
  };
  /** `by`: who said so. */
  approve(code: string, by: string): Promise<PairedPerson>;
  /** `CHANNEL:ID` */
  remove(person: string): Promise<PairedPerson>;
}

interface PairPorts {
  readonly desk: PairingDesk;
  readonly timezone: string | null;
}

export const pairCommand = ({ desk, timezone }: PairPorts): Command => ({
  name: 'pair',
  description: 'who may write to me: `/pair CODE` lets somebody in, `/pair remove CHANNEL:ID` shuts them out',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async ({ message: { chatType, channel, sender }, args }) => {
    if (chatType !== 'direct') return 'Others read along here: write /pair in our direct chat.';
    const [word = '', second = ''] = args.split(/\s+/u);
    const first = word.toLowerCase();
    try {
      if (first === '' || first === 'list') return overview(desk.list(), timezone);
      if (first === 'remove') return `${labelOf(await desk.remove(second))} may not write to me any more.`;
      const code = first === 'approve' ? second : args;
      return `${labelOf(await desk.approve(code, `${channel}:${sender.id}`))} may write to me now.`;
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  },
});

function overview({ people, pending, lockedUntil }: ReturnType<PairingDesk['list']>, timezone: string | null): string {
  const time = (at: number): string => localMinute(at, timezone);
  const lines = [
    ...people.map((person) => `- ${labelOf(person)}, since ${time(person.addedAt)}, by ${person.addedBy}`),
    ...pending.map((one) => `- ${labelOf(one)} waits with the code \`${one.code}\`, until ${time(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many codes were wrong: none is taken until ${time(lockedUntil)}.`]),
  ];
  return lines.length === 0 ? 'Nobody was let in by a code, and nobody waits.' : lines.join('\n');
}

/** They chose their name themselves: it must not look like anything else. */
function labelOf({ channel, id, name }: Pick<PairedPerson, 'channel' | 'id' | 'name'>): string {
  const called = (name ?? '').replaceAll('`', "'");
  return called === '' ? `${channel}:${id}` : `${channel}:${id} \`${called}\``;
}
