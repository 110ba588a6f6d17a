import { BUSY_MODES, busyModeOf, type BusyMode } from '../message-batching.ts';
import type { App } from '../../app.ts';
import type { ChatCommand } from './command.ts';

const MEANING: Readonly<Record<BusyMode, string>> = {
  steer: 'joins that work',
  queue: 'waits until that work ends',
  interrupt: 'stops that work',
};

const HOW = '`/busy steer`, `/busy queue` or `/busy interrupt` changes it, `/busy default` goes back.';

function says(mode: BusyMode): string {
  return `a message that comes while I work here ${MEANING[mode]} (${mode})`;
}

export const busyCommand = ({ config, journal: { settings } }: App): ChatCommand => ({
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
      const chosen = busyModeOf(settings.whenBusy(sessionKey));
      const now = says(chosen ?? config.agent.whenBusy);
      return `${chosen === null ? 'By default' : 'By your choice'}, ${now}. ${HOW}`;
    }
    const mode = busyModeOf(wish);
    if (mode === null && wish !== 'default') {
      return `There is no mode with this name; the modes are ${BUSY_MODES.join(', ')}. Nothing was changed. ${HOW}`;
    }
    await settings.setWhenBusy(sessionKey, mode);
    return `From now on ${says(mode ?? config.agent.whenBusy)}${mode === null ? ', as by default' : ''}.`;
  },
});
