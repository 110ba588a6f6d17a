import { Attachments } from '../channels/attachments.ts';
import type { Outlets } from '../channels/delivery-part.ts';
import { speechToText } from '../providers/speech.ts';
import { imageType, MOST_IMAGE_BYTES } from '../tools/files/image-type.ts';
import type { Base } from './base.ts';
import type { Stores } from './stores.ts';

/** What gets the files of messages, and the words of those that were spoken. */
export function createAttachments(
  { config, clock, random, log }: Base,
  { media, outlets }: Pick<Stores, 'media'> & { readonly outlets: Pick<Outlets, 'outlet'> },
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
