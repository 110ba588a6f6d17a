import { noUsage } from '../../util/token-usage.ts';
import type { App } from '../../core/app.ts';
import type { Speak } from '../../channels/speech.ts';
import { textToSpeech, type Synthesize } from '../../providers/openai/speech.ts';
import { hasServer, speakingPrice, speakingServer } from '../../providers/speech-servers.ts';
import { deadline, DeadlineError, raceAbort } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';

const MEDIA_TYPES = {
  opus: { mediaType: 'audio/ogg', ending: 'ogg' },
  mp3: { mediaType: 'audio/mpeg', ending: 'mp3' },
  aac: { mediaType: 'audio/aac', ending: 'aac' },
  flac: { mediaType: 'audio/flac', ending: 'flac' },
  wav: { mediaType: 'audio/wav', ending: 'wav' },
} as const;

/** Of one text; below the time that delivery waits for it. */
const SPEAKING_MS = 150_000;

/** Speaks texts by the server that the configuration names now, within the budgets, and counts what it costs. */
export function createSpeaker({ config, program, clock, log, storage, journal, media, budget }: App): Speak {
  let made: { readonly from: string; readonly synthesize: Synthesize } | undefined;
  return async (text, { turnId = '', chat }, signal) => {
    const server = speakingServer(config, program.presets);
    if (!hasServer(server)) return failed('speech is not set up any more (voice.speech)');
    const messages = journal.turns.messages(turnId);
    const spender = {
      turnId,
      sessionKey: messages.at(-1)?.sessionKey ?? chat,
      role: messages.at(-1)?.role ?? ('guest' as const),
      messages,
      entries: [],
      source: 'speech' as const,
    };
    const refused = await budget.refusal(spender);
    if (refused !== null) return { failed: `There is no voice message: ${refused}` };
    const { provider, model } = server;
    const { voice, format, usdPerMillionCharacters: price } = config.voice.speech;
    const from = JSON.stringify(server);
    if (made?.from !== from) made = { from, synthesize: textToSpeech(server, clock) };
    using limit = deadline(clock, SPEAKING_MS, 'Speaking a text');
    const cut = AbortSignal.any([signal, limit.signal]);
    try {
      const bytes = await raceAbort(made.synthesize(text, { voice, format }, cut), cut);
      const perMillion = price ?? speakingPrice(server);
      const costUsd = perMillion === null ? null : (text.length * perMillion) / 1_000_000;
      budget.count(spender, { provider, model }, noUsage, costUsd);
      const { mediaType, ending } = MEDIA_TYPES[format];
      const path = await storage.untilWritten(() => media.keep(bytes), { signal, what: 'speech: file' });
      return { kind: 'audio', mediaType, path, name: `answer.${ending}`, size: bytes.byteLength, speech: true };
    } catch (error) {
      signal.throwIfAborted();
      log.warn('speech: a text was not spoken', { provider, model, reason: errorMessage(error) });
      return failed(reasonOf(error));
    }
  };
}

function failed(reason: string): { readonly failed: string } {
  return { failed: `There is no voice message, because ${reason}.` };
}

/** Why a server did not speak, in the words of people. */
function reasonOf(error: unknown): string {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (typeof status === 'number') return `the speech server answered ${status}`;
  if (error instanceof DeadlineError || (error instanceof Error && error.cause instanceof DeadlineError)) {
    return 'the speech server did not answer in time';
  }
  return 'the speech server could not be reached';
}
