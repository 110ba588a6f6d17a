import { FROM, parseChat, type Media, type OutboundMessage } from '../bus/messages.ts';
import { SPEECH_CHANNEL } from '../bus/speech.ts';
import type { App } from '../app.ts';
import { SendError, type Channel, type OutgoingPart } from './channel.ts';
import type { Outlets } from './delivery/next-part.ts';

/** A voice message that was not sent within this time expires. */
const TTL_MS = 24 * 3_600_000;
/** A long text takes most of a minute. */
const MAKING_MS = 180_000;

/** What a text is spoken for. */
export interface SpeechOrder {
  /** The turn that says it; undefined: none. */
  readonly turnId: string | undefined;
  /** `channel:chat[:thread]` that gets it. */
  readonly chat: string;
}

/** Speaks a text. `failed`: one sentence for the person who waits for it. Rejects only when the signal aborts. */
export type Speak = (
  text: string,
  order: SpeechOrder,
  signal: AbortSignal,
) => Promise<Media | { readonly failed: string }>;

/**
 * The channel of texts that are to be spoken. What it "sends" is made into a voice message, which it queues for the chat that the
 * text names; where the server fails, one sentence instead. Both have the same id, so that a chat gets exactly one of them, also
 * after a crash.
 */
export class SpeechChannel implements Channel {
  readonly name = SPEECH_CHANNEL;
  readonly kind = SPEECH_CHANNEL;
  readonly capabilities = {
    maxLength: Number.MAX_SAFE_INTEGER,
    edit: false,
    typing: false,
    buttons: false,
    threads: false,
    media: false,
    reactions: false,
    drafts: false,
  };
  readonly settlesResends = true;
  readonly sendDeadlineMs = MAKING_MS;
  readonly #app: Pick<App, 'bus' | 'journal' | 'clock'>;
  /** What could not be queued yet: speaking it again would cost again. */
  readonly #made = new Map<string, OutboundMessage>();
  #speak: Speak | undefined;

  constructor(app: Pick<App, 'bus' | 'journal' | 'clock'>) {
    this.#app = app;
  }

  /** Has texts spoken by this from now on. */
  use(speak: Speak): void {
    this.#speak = speak;
  }

  async start(): Promise<AsyncDisposable> {
    return { [Symbol.asyncDispose]: async () => {} };
  }

  /** The text stays Markdown until it is spoken: its reader is loaded for nothing where nothing ever is. */
  render(markdown: string): readonly string[] {
    return markdown.trim() === '' ? [] : [markdown];
  }

  plain(text: string): readonly string[] {
    return this.render(text);
  }

  async send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }> {
    const id = `${part.messageId}:sound`;
    if (this.#app.journal.outbox.stateOf(id) === undefined) {
      const message = this.#made.get(id) ?? (await this.#voiceMessage(id, part, signal));
      this.#made.set(id, message);
      await this.#app.bus.publishOutbound(message);
    }
    this.#made.delete(id);
    return { platformId: part.nonce };
  }

  health(): { readonly state: 'running' } {
    return { state: 'running' };
  }

  async #voiceMessage(id: string, part: OutgoingPart, signal: AbortSignal): Promise<OutboundMessage> {
    const target = parseChat(part.chatId);
    if (target === undefined) throw new SendError('permanent', `there is no chat ${part.chatId}`);
    if (this.#speak === undefined) throw new SendError('retryable', 'speech is not ready yet');
    const { turnId, from } = part;
    const { spokenText } = await import('./markup/spoken.ts');
    const spoken = await this.#speak(spokenText(part.text), { turnId, chat: part.chatId }, signal);
    const common = {
      id,
      ...target,
      kind: 'part' as const,
      ...(turnId === undefined ? {} : { turnId }),
      expiresAt: this.#app.clock.now() + TTL_MS,
    };
    const metadata = from === undefined ? {} : { [FROM]: from };
    return 'failed' in spoken
      ? { ...common, text: spoken.failed, media: [], metadata: { ...metadata, own: true } }
      : { ...common, text: '', media: [spoken], metadata };
  }
}

/** The outlets of delivery, and texts that are to be spoken beside them. */
export function withSpeech(outlets: Outlets, speech: SpeechChannel): Outlets {
  return {
    outlet: (name) => (name === speech.name ? speech : outlets.outlet(name)),
    sending: (name, work) => outlets.sending(name, work),
    revoked: (name, reason) => outlets.revoked(name, reason),
    running: () => outlets.running(),
    onReachable: (listener) => outlets.onReachable(listener),
  };
}
