import type { PairingDesk } from '../agent/commands/pair.ts';
import type { Config } from '../config/schema.ts';
import type { Journal } from '../journal/journal.ts';
import { AppError } from '../util/errors.ts';

/** Who is let in, for /pair and the command line. */
export function createPairing({ people, pairing }: Journal, config: Config): PairingDesk {
  return {
    list: () => ({ people: people.list(), pending: pairing.pending(), lockedUntil: pairing.lockedUntil() }),
    approve: (code, by) => pairing.approve(code, by),
    remove: async (text) => {
      const [channel = '', ...rest] = text.split(':');
      const id = rest.join(':');
      const person = await people.remove(channel, id);
      if (person !== undefined) return person;
      throw new AppError('pairing-person', whyNot({ text, channel, id }, config));
    },
  };
}

function whyNot({ text, channel, id }: Record<'text' | 'channel' | 'id', string>, { channels }: Config): string {
  if (id === '') return `Expected CHANNEL:ID, such as telegram:123456789, but ${JSON.stringify(text)} was given.`;
  const { allowFrom = [], owners = [] } = channels[channel] ?? {};
  if (![...allowFrom, ...owners].includes(id))
    return `${channel}:${id} was not let in by a code, so nothing was changed.`;
  return `${channel}:${id} is let in by the configuration: take ${id} out of channels.${channel} and start again.`;
}
