import type { App } from '../../app.ts';
import type { PairedRole } from '../../bus/messages.ts';
import type { PairedPerson, Pairing } from '../../bus/pairing.ts';
import { AppError } from '../../util/errors.ts';
import { localMinute } from '../../util/time-zone.ts';
import type { ChatCommand } from './command.ts';

export const pairCommand = ({ pairing, config }: App): ChatCommand => ({
  name: 'pair',
  description:
    'who may write to me: `/pair CODE` adds a person, `/pair CODE owner` adds an owner, `/pair CODE guest` a guest, `/pair remove CHANNEL:ID` removes them',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async ({ message: { chatType, channel, sender }, args }) => {
    if (chatType !== 'direct') return 'Other people can read this chat: write /pair in our direct chat instead.';
    const by = `${channel}:${sender.id}`;
    const [word = '', second = ''] = args.split(/\s+/u);
    const first = word.toLowerCase();
    try {
      if (first === '' || first === 'list') return overview(pairing.list(), config.agent.timezone);
      if (first === 'remove') {
        const removed = await pairing.remove(second);
        const { still, ownerless } = removed;
        const what = `${labelOf(removed)} ${still === null ? 'can no longer write to me' : 'is no longer paired'}.`;
        return [what, still ?? '', ownerless ?? ''].filter((line) => line !== '').join('\n');
      }
      const { code = '', role } = APPROVAL.exec(args)?.groups ?? {};
      const person = await pairing.approve(code, { by, role: roleIn(role) });
      const change = (to: string): string => `\`/pair ${person.channel}:${person.id} ${to}\``;
      const promote = {
        owner: [],
        trusted: [`To make them an owner: ${change('owner')}`],
        guest: [`To make them trusted: ${change('trusted')}`],
      }[person.role];
      return [`${labelOf(person)} can write to me now, as ${roleWord(person.role)}. ${person.may}`, ...promote].join(
        '\n',
      );
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  },
});

function overview(list: Pairing, timezone: string | null): string {
  const { people, configured, pending, lockedUntil } = list;
  const time = (at: number): string => localMinute(at, timezone);
  const lines = [
    ...configured.map((person) => `- ${labelOf(person)}, ${person.role}, by the configuration`),
    ...people.map(
      (person) => `- ${labelOf(person)}, ${person.role}, since ${time(person.addedAt)}, by ${person.addedBy}`,
    ),
    ...pending.map((one) => `- ${labelOf(one)} is waiting with the code \`${one.code}\`, until ${time(one.expiresAt)}`),
    ...(lockedUntil === null ? [] : [`Too many wrong codes: pairing is locked until ${time(lockedUntil)}.`]),
  ];
  return lines.length === 0 ? 'No one is paired, and no request is waiting.' : lines.join('\n');
}

const APPROVAL = /^(?:approve\s+)?(?<code>.*?)(?:\s+(?:as\s+)?(?<role>owner|trusted|guest))?$/isu;

function roleIn(word: string | undefined): PairedRole {
  const role = word?.toLowerCase();
  return role === 'owner' || role === 'guest' ? role : 'trusted';
}

function roleWord(role: PairedRole): string {
  return { owner: 'an owner', trusted: 'a trusted person', guest: 'a guest' }[role];
}

/** Names a person. They chose their name, so it is quoted and cannot look like other text. */
function labelOf({ channel, id, name }: Pick<PairedPerson, 'channel' | 'id' | 'name'>): string {
  const called = (name ?? '').replaceAll('`', "'");
  return called === '' ? `${channel}:${id}` : `${channel}:${id} \`${called}\``;
}
