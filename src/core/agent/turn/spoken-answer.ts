import type { App } from '../../app.ts';
import { API_CHANNEL } from '../../bus/api.ts';
import { speechStateOf } from '../../program.ts';
import type { TapeEntry } from '../../session/entry.ts';
import { isOwnersChannel } from '../../util/owners-channels.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import { wantsVoice } from './answer-text.ts';

/** Whether voice messages can be made and sent to this channel, as the configuration says now. */
export function canSpeak(app: App, channel: string): boolean {
  if (channel === API_CHANNEL || speechStateOf(app).speaks === null) return false;
  // A channel that isn't loaded yet is a chat platform, and all of those take files.
  return app.channels.manager.channel(channel)?.capabilities.media ?? !isOwnersChannel(channel);
}

/** Whether the answer of a turn is also sent as a voice message: the model asked for that, or it answers one and that is set. */
export function isSpoken({ messages }: TurnFacts, entries: readonly TapeEntry[], app: App): boolean {
  const target = messages.at(-1);
  if (target === undefined || !canSpeak(app, target.channel)) return false;
  const isToVoice = messages.some(({ media }) =>
    media.some((file) => file.speech === true && file.quotedFrom === undefined),
  );
  return wantsVoice(entries) || (isToVoice && speechStateOf(app).speaks?.toVoice === true);
}
