import { outboundTo } from '../../agent/outgoing.ts';
import type { Media } from '../../bus/messages.ts';
import { Attachments } from '../../channels/inbound/attachments.ts';
import type { App } from '../../core/app.ts';
import { GuestFiles } from '../../channels/inbound/guest-files.ts';
import { speechToText, type Transcribe } from '../../providers/openai/speech.ts';
import { hasServer, hearingServer } from '../../providers/speech-servers.ts';
import { imageType, MOST_IMAGE_BYTES } from '../../tools/files/file-text.ts';
import { errorMessage } from '../../util/errors.ts';

/** Creates the function that downloads the files of messages and transcribes voice messages. */
export function createAttachments(app: App): Attachments {
  const { paths, clock, random, log, media, bus, channels } = app;
  const speech = createSpeech(app);
  speech();
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

/** What turns speech into text as the configuration says now; null: nothing does, and the log says why where it was wanted. */
function createSpeech({ config, program, clock, log }: App): () => Transcribe | null {
  let made: { readonly from: string; readonly speech: Transcribe | null } | undefined;
  return () => {
    const server = hearingServer(config, program.presets);
    const from = JSON.stringify(server);
    if (made?.from === from) return made.speech;
    if (typeof server === 'string') log.warn(server);
    const speech = hasServer(server) ? speechToText(server, clock) : null;
    made = { from, speech };
    return speech;
  };
}
