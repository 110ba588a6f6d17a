import { outboundTo } from '../agent/outgoing.ts';
import type { Media } from '../bus/messages.ts';
import { Attachments } from '../channels/inbound/attachments.ts';
import type { App } from '../app.ts';
import { speechOf } from '../program.ts';
import { GuestFiles } from '../channels/inbound/guest-files.ts';
import type { Transcribe } from '../providers/vendor.ts';
import { imageType, MOST_IMAGE_BYTES } from '../files/text.ts';
import { errorMessage } from '../util/errors.ts';

/** Creates the function that downloads the files of messages and transcribes voice messages. */
export function createAttachments(app: App): Attachments {
  const { paths, clock, random, log, media, bus, channels } = app;
  const speech = (): Transcribe | null => speechOf(app)?.transcriber(app) ?? null;
  // The log says what is wrong with it.
  try {
    speech();
  } catch (error) {
    log.error('speech: does not open', { reason: errorMessage(error) });
  }
  return new Attachments({
    outlets: channels.manager,
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
