import { outboundTo } from '../../agent/outgoing.ts';
import type { MessageBus } from '../../bus/bus.ts';
import type { Media } from '../../bus/messages.ts';
import { Attachments, type AttachmentPorts } from '../../channels/inbound/attachments.ts';
import { GuestFiles } from '../../channels/inbound/guest-files.ts';
import { speechToText, type Transcribe } from '../../providers/openai/speech.ts';
import { hasServer, hearingServer } from '../../providers/speech-servers.ts';
import { imageType, MOST_IMAGE_BYTES } from '../../tools/files/file-text.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Base } from '../base.ts';
import type { Stores } from '../storage/stores.ts';

/** Creates the function that downloads the files of messages and transcribes voice messages. */
export function createAttachments(
  { config, paths, clock, random, log }: Base,
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
    guestFiles: new GuestFiles(paths.media),
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

/** What turns speech into text as the configuration says now; null: nothing does, and the log says why where it was wanted. */
function createSpeech({ config, clock, log }: Pick<Base, 'config' | 'clock' | 'log'>): () => Transcribe | null {
  let made: { readonly from: string; readonly speech: Transcribe | null } | undefined;
  return () => {
    const server = hearingServer(config);
    const from = JSON.stringify(server);
    if (made?.from === from) return made.speech;
    if (typeof server === 'string') log.warn(server);
    const speech = hasServer(server) ? speechToText(server, clock) : null;
    made = { from, speech };
    return speech;
  };
}
