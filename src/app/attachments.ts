import { outboundTo } from '../agent/outgoing.ts';
import type { MessageBus } from '../bus/bus.ts';
import { Attachments, type AttachmentPorts } from '../channels/inbound/attachments.ts';
import { speechToText } from '../providers/openai/speech.ts';
import { imageType, MOST_IMAGE_BYTES } from '../tools/files/file-text.ts';
import { errorMessage } from '../util/errors.ts';
import type { Base } from './base.ts';
import type { Stores } from './stores.ts';

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
  const { provider, apiKey, baseUrl, model } = config.voice;
  const speech =
    provider === null
      ? null
      : speechToText({ provider, apiKey: apiKey ?? keyOf(config.providers[provider]), baseUrl, model, clock });
  if (typeof speech === 'string') log.warn(speech);
  return new Attachments({
    outlets,
    folder: (sessionKey) => media.folder(sessionKey),
    keepImage: async (bytes) =>
      bytes.byteLength <= MOST_IMAGE_BYTES && imageType(bytes) !== undefined ? await media.keep(bytes) : null,
    transcribe: speech === null || typeof speech === 'string' ? null : ({ path }, signal) => speech(path, signal),
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

/** The first key of a provider that is configured for answers too. */
function keyOf(
  settings: { readonly apiKey?: string | readonly string[] | null | undefined } | undefined,
): string | null {
  const key = settings?.apiKey ?? null;
  return typeof key === 'string' ? key : (key?.[0] ?? null);
}
