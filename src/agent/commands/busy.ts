import { BUSY_MODES, busyModeOf, type BusyMode } from '../message-batching.ts';
import type { ChatCommand } from './command.ts';

/** Reads and changes what a message does to a running turn of a session. */
export interface BusyChoice {
  /** As the configuration says it now. */
  readonly standard: BusyMode;
  /** The mode chosen for a session; null: the standard one. */
  chosen(sessionKey: string): BusyMode | null;
  /** Holds at once; null: the standard one. Durable when it resolves. */
  choose(sessionKey: string, mode: BusyMode | null): Promise<void>;
}

const MEANING: Readonly<Record<BusyMode, string>> = {
  steer: 'joins that work',
  queue: 'waits until that work ends',
  interrupt: 'stops that work',
};

const HOW = '`/busy steer`, `/busy queue` or `/busy interrupt` changes it, `/busy default` goes back.';

function says(mode: BusyMode): string {
  return `a message that comes while I work here ${MEANING[mode]} (${mode})`;
}

export const busyCommand = (busy: BusyChoice): ChatCommand => ({
  name: 'busy',
  description:
    'show what a message does while I work here; `/busy steer` (it joins), `/busy queue` (it waits) or `/busy interrupt` (it stops the work) changes it, `/busy default` goes back',
  role: 'owner',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { sessionKey }, args }) => {
    const wish = args.toLowerCase();
    if (wish === '') {
      const chosen = busy.chosen(sessionKey);
      const now = says(chosen ?? busy.standard);
      return `${chosen === null ? 'By default' : 'By your choice'}, ${now}. ${HOW}`;
    }
    const mode = busyModeOf(wish);
    if (mode === null && wish !== 'default') {
      return `There is no mode with this name; the modes are ${BUSY_MODES.join(', ')}. Nothing was changed. ${HOW}`;
    }
    await busy.choose(sessionKey, mode);
    return `From now on ${says(mode ?? busy.standard)}${mode === null ? ', as by default' : ''}.`;
  },
});
