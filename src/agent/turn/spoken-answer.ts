import type { TapeEntry } from '../../session/entry.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import type { SpeechPorts } from '../ports.ts';
import { wantsVoice } from './answer-text.ts';

/** Whether the answer of a turn is also sent as a voice message: the model asked for that, or it answers one and that is set. */
export function isSpoken({ messages }: TurnFacts, entries: readonly TapeEntry[], speech: SpeechPorts): boolean {
  const target = messages.at(-1);
  if (target === undefined || !speech.isOffered(target.channel)) return false;
  const isToVoice = messages.some(({ media }) =>
    media.some((file) => file.speech === true && file.quotedFrom === undefined),
  );
  return wantsVoice(entries) || (isToVoice && speech.answersVoice());
}
