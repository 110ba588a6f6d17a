import type { App } from '../../app.ts';
import { localTime } from '../../util/time-zone.ts';
import type { WhyStory } from '../why/facts.ts';
import type { ChatCommand } from './command.ts';

/** Most steps that a chat shows; `assistant why` has all. */
const MOST = 15;

/** /why: tells why a message was answered as it was, late, or not at all. */
export const whyCommand = ({ why, config }: App): ChatCommand => ({
  name: 'why',
  description: 'why I answered like that, late or not at all: the message you reply to, or the last one here',
  role: 'guest',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message }) => {
    const told = await why.askedIn(message);
    if (told === undefined) return 'I can tell you that only of your own messages.';
    return chatText(told, config.agent.timezone);
  },
});

function chatText({ subject, cause, steps, cost, turn }: WhyStory, timezone: string | null): string {
  const shown = steps.slice(-MOST);
  const left = steps.length - shown.length;
  const lines = shown.map(({ at, what }) => `- ${localTime(at, timezone).time} ${what}`);
  return [
    `About ${subject}: ${cause}`,
    ...(lines.length === 0 ? [] : ['', ...(left > 0 ? [`- … ${left} earlier`] : []), ...lines]),
    ...(cost === null ? [] : ['', `Cost: ${cost}`]),
    ...(turn === null || cost === null ? [] : [`Turn: \`${turn}\``]),
  ].join('\n');
}
