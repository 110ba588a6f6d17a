import type { PairedRole } from '../../bus/messages.ts';
import type { PairedPerson, Pairing } from '../../bus/pairing.ts';
import { AppError } from '../../util/errors.ts';
import { localMinute } from '../../util/time-zone.ts';
import type { Command } from './command.ts';

/** Who is let in by a code, who waits for it, and how that changes. What it throws is an `AppError` for people. */
export interface PairingPort {
  list(): Pairing;
  /**
   * Lets in the person who received a code or, named as `CHANNEL:ID`, gives somebody who was let in another role. `by`:
   * who said so. `may` says what the role allows.
   */
  approve(
    codeOrPerson: string,
    as: { readonly by: string; readonly role: PairedRole },
  ): Promise<PairedPerson & { readonly may: string }>;
  /** `CHANNEL:ID`. `ownerless`: a sentence when the channel has no owner now. */
  remove(person: string): Promise<PairedPerson & { readonly ownerless: string | null }>;
  /** A sentence about a channel on which nobody is owner, with what to do; null: somebody is. */
  ownerless(channel: string): string | null;
}

interface PairPorts {
  readonly pairing: PairingPort;
  readonly timezone: string | null;
}

export const pairCommand = ({ pairing, timezone }: PairPorts): Command => ({
  name: 'pair',
  description:
    'who may write to me: `/pair CODE` adds a person, `/pair CODE owner` adds an owner, `/pair remove CHANNEL:ID` removes them',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async ({ message: { chatType, channel, sender }, args }) => {
    if (chatType !== 'direct') return 'Others read along here: write /pair in our direct chat.';
    const by = `${channel}:${sender.id}`;
    const [word = '', second = ''] = args.split(/\s+/u);
    const first = word.toLowerCase();
    try {
      if (first === '' || first === 'list') return overview(pairing.list(), timezone);
      if (first === 'remove') {
        const removed = await pairing.remove(second);
        return [`${labelOf(removed)} may not write to me any more.`, removed.ownerless ?? ''].join('\n').trim();
      }
      const { code = '', role } = APPROVAL.exec(args)?.groups ?? {};
      const person = await pairing.approve(code, { by, role: role?.toLowerCase() === 'owner' ? 'owner' : 'trusted' });
      const promote = `To make them an owner: \`/pair ${person.channel}:${person.id} owner\``;
      return [
        `${labelOf(person)} may write to me now, as ${roleWord(person.role)}. ${person.may}`,
        ...(person.role === 'owner' ? [] : [promote]),
      ].join('\n');
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  },
});

function overview({ people, pending, lockedUntil }: ReturnType<PairingPort['list']>, timezone: string | null): string {
  const time = (at: number): string => localMinute(at, timezone);
  const lines = [
    ...people.map(
      (person) => `- ${labelOf(person)}, ${person.role}, since ${time(person.addedAt)}, by ${person.addedBy}`,
    ),
    ...pending.map((one) => `- ${labelOf(one)} waits with the code \`${one.code}\`, until ${time(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many codes were wrong: pairing is locked until ${time(lockedUntil)}.`]),
  ];
  return lines.length === 0 ? 'Nobody is paired, and no request is waiting.' : lines.join('\n');
}

const APPROVAL = /^(?:approve\s+)?(?<code>.*?)(?:\s+(?:as\s+)?(?<role>owner|trusted))?$/isu;

function roleWord(role: PairedRole): string {
  return role === 'owner' ? 'an owner' : 'a trusted person';
}

/** They chose their name themselves: it must not look like anything else. */
function labelOf({ channel, id, name }: Pick<PairedPerson, 'channel' | 'id' | 'name'>): string {
  const called = (name ?? '').replaceAll('`', "'");
  return called === '' ? `${channel}:${id}` : `${channel}:${id} \`${called}\``;
}
