import { outboundTo } from '../../agent/outgoing.ts';
import type { MessageBus } from '../../bus/bus.ts';
import type { Media } from '../../bus/messages.ts';
import { Attachments, type AttachmentPorts } from '../../channels/inbound/attachments.ts';
import { speechToText } from '../../providers/openai/speech.ts';
import { imageType, MOST_IMAGE_BYTES } from '../../tools/files/file-text.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Base } from '../base.ts';
import type { Stores } from '../storage/stores.ts';

/** Creates the function that downloads the files of messages and transcribes voice messages. */
export function createAttachments(
  { config, clock, random, log }: Base,
  {
    media,
    outlets,
    bus,
  }: Pick<Stores, 'media'> & {
    readonly outlets: AttachmentPorts['outlets'];
    readonly bus: Pick<MessageBus, 'publishOutbound'>;
  },
): Attachments {
  const speech = createSpeech({ config, clock, log });
  speech();
  return new Attachments({
    outlets,
    folder: (sessionKey) => media.folder(sessionKey),
    keepImage: async (bytes) =>
      bytes.byteLength <= MOST_IMAGE_BYTES && imageType(bytes) !== undefined ? await media.keep(bytes) : null,
    get transcribe() {
      const found = speech();
      return found === null ? null : ({ path }: Media, signal: AbortSignal) => found(path, signal);
    },
    tell: async (message, text) => {
      const notice = { id: `${message.id}:files`, kind: 'notice', text } as const;
      await bus
        .publishOutbound(outboundTo(message, notice, clock.now()))
        .catch((error: unknown) => log.warn('attachments: notice not queued', { reason: errorMessage(error) }));
    },
    clock,
    random,
    log,
  });
}

type Speech = (path: string, signal: AbortSignal) => Promise<string>;

/** What turns speech into text as the configuration says now; null: nothing does, and the log says why where it was wanted. */
function createSpeech({ config, clock, log }: Pick<Base, 'config' | 'clock' | 'log'>): () => Speech | null {
  let made: { readonly from: string; readonly speech: Speech | null } | undefined;
  return () => {
    const { provider, apiKey, baseUrl, model } = config.voice;
    if (provider === null) return null;
    const options = { provider, apiKey: apiKey ?? keyOf(config.providers[provider]), baseUrl, model };
    const from = JSON.stringify(options);
    if (made?.from === from) return made.speech;
    const speech = speechToText({ ...options, clock });
    if (typeof speech === 'string') log.warn(speech);
    made = { from, speech: typeof speech === 'string' ? null : speech };
    return made.speech;
  };
}

/** The first key of a provider that is configured for answers too. */
function keyOf(
  settings: { readonly apiKey?: string | readonly string[] | null | undefined } | undefined,
): string | null {
  const key = settings?.apiKey ?? null;
  return typeof key === 'string' ? key : (key?.[0] ?? null);
}
