import { deadline, errorMessage, raceAbort } from '../../core/api.ts';
import { DeadlineError, noUsage } from '../../core/api-providers.ts';
import type { SpeechPart, Synthesize } from '../../core/api-vendors.ts';
import { hasServer, lastOpened, speakingPrice, speakingServer } from './servers.ts';
import { voice as settings } from './settings.ts';

const MEDIA_TYPES = {
  opus: { mediaType: 'audio/ogg', ending: 'ogg' },
  mp3: { mediaType: 'audio/mpeg', ending: 'mp3' },
  aac: { mediaType: 'audio/aac', ending: 'aac' },
  flac: { mediaType: 'audio/flac', ending: 'flac' },
  wav: { mediaType: 'audio/wav', ending: 'wav' },
} as const;

/** Of one text; below the time that delivery waits for it. */
const SPEAKING_MS = 150_000;

/** Speaks a text by the server that the configuration names now, within the budgets, and counts what it costs. */
export const speak: SpeechPart['speak'] = async (app, text, { turnId = '', chat }, signal) => {
  const { config, program, clock, log, storage, journal, media, budget } = app;
  const server = speakingServer(app);
  if (!hasServer(server)) return null;
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
  const { voice, format, usdPerMillionCharacters: price } = settings.of(config).speech;
  using limit = deadline(clock, SPEAKING_MS, 'Speaking a text');
  const cut = AbortSignal.any([signal, limit.signal]);
  try {
    const synthesize = await app.once(speaking)(server, { name: 'voice.speech', clock });
    const bytes = await raceAbort(synthesize(text, { voice, format }, cut), cut);
    const perMillion = price ?? speakingPrice(server, program.presets);
    const costUsd = perMillion === null ? null : (text.length * perMillion) / 1_000_000;
    budget.count(spender, { provider, model }, noUsage, costUsd);
    const { mediaType, ending } = MEDIA_TYPES[format];
    const path = await storage.untilWritten(() => media.keep(bytes), { signal, what: 'speech: file' });
    return { kind: 'audio', mediaType, path, name: `answer.${ending}`, size: bytes.byteLength, speech: true };
  } catch (error) {
    signal.throwIfAborted();
    log.warn('speech: a text was not spoken', { provider, model, reason: errorMessage(error) });
    return { failed: `There is no voice message, because ${reasonOf(error)}.` };
  }
};

const speaking = () => lastOpened<Synthesize>();

/** Why a server did not speak, in the words of people. */
function reasonOf(error: unknown): string {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (typeof status === 'number') return `the speech server answered ${status}`;
  if (error instanceof DeadlineError || (error instanceof Error && error.cause instanceof DeadlineError)) {
    return 'the speech server did not answer in time';
  }
  return 'the speech server could not be reached';
}
