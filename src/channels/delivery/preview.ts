import type { MessageBus } from '../../bus/bus.ts';
import type { OutboundEvent } from '../../bus/messages.ts';
import { previewNonce, type PreviewStore, type PreviewPlace } from '../../journal/previews.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { SendError, type Channel } from '../channel.ts';
import type { Outlets } from './next-part.ts';

/** What is written sooner is sent once, whole. */
const FIRST_MS = 1_000;
/** Between two edits; platforms allow about one a second. */
const EDIT_MS = 1_200;
const CALL_DEADLINE_MS = 10_000;
/** A draft is shown anew before the platform takes it away. */
const KEEP_MS = 20_000;

interface Preview {
  readonly turnId: string;
  readonly place: PreviewPlace;
  text: string;
  /** What is being done, in one line; empty: the text is being written. */
  status: string;
  /** As it was sent last. */
  shown: string;
  /** Of the row in the journal. */
  id: string | undefined;
  platformId: string | undefined;
  /** It is a draft, or a message that was begun; undefined: nothing yet. */
  as: 'draft' | 'message' | undefined;
  /** Until a draft is shown anew. */
  lease: Disposable | undefined;
  /** A tool ran: the next text is another one. */
  isOver: boolean;
  timer: Disposable | undefined;
  /** The call under way. */
  busy: Promise<void> | undefined;
  /** Nothing is shown any more. */
  over: boolean;
  /** Not before, by `Clock.now`. */
  notBefore: number;
}

export interface PreviewPorts {
  readonly bus: Pick<MessageBus, 'listen'>;
  readonly ledger: PreviewStore;
  readonly outlets: Pick<Outlets, 'outlet'>;
  /** Whether a channel shows answers while they are written. */
  readonly isShown: (channel: string) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Shows an answer while it is written: a draft where the channel has them, else one message that grows by edits, at
 * most one a second, with what a tool is doing as its last line; where the turn says something else in between, the rest
 * is shown in one below that. The answer takes its place in the end; until then it is in the journal, so that an answer
 * after a crash takes its place too. Whatever fails here costs the person the sight of it, never the answer.
 */
export class Previews implements Disposable {
  readonly #ports: PreviewPorts;
  readonly #previews = new Map<string, Preview>();
  readonly #listening: Disposable;

  constructor(ports: PreviewPorts) {
    this.#ports = ports;
    this.#listening = ports.bus.listen((event) => this.#hear(event));
  }

  /** Resolves when nothing of a turn's preview is on its way any more, and nothing will be: its answer may follow. */
  async settle(turnId: string): Promise<void> {
    const preview = this.#previews.get(turnId);
    if (preview === undefined) return;
    this.#previews.delete(turnId);
    end(preview);
    await preview.busy;
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    for (const preview of this.#previews.values()) end(preview);
    this.#previews.clear();
  }

  #hear(event: OutboundEvent): void {
    const known = this.#previews.get(event.turnId);
    switch (event.type) {
      case 'text': {
        const preview = this.#current(known ?? this.#open(event));
        if (preview === undefined) return;
        preview.isOver = false;
        preview.text = event.text;
        preview.status = '';
        this.#schedule(preview);
        break;
      }
      case 'tool-start':
      case 'tool-end':
        if (known === undefined) return;
        known.isOver = true;
        known.status = event.type === 'tool-start' ? event.title : '';
        this.#schedule(known);
        break;
      default:
    }
  }

  #open({ turnId, channel, chatId, threadId }: OutboundEvent): Preview | undefined {
    if (!this.#ports.isShown(channel) || this.#channel(channel)?.edit === undefined) return undefined;
    const place = { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
    return this.#fresh(turnId, place, this.#ports.ledger.platformId(turnId));
  }

  #fresh(turnId: string, place: PreviewPlace, platformId?: string): Preview {
    const { clock } = this.#ports;
    const preview: Preview = {
      turnId,
      place,
      text: '',
      status: '',
      shown: '',
      id: undefined,
      platformId,
      as: platformId === undefined ? undefined : 'message',
      lease: undefined,
      // What an earlier process left behind may be overtaken too.
      isOver: platformId !== undefined,
      timer: undefined,
      busy: undefined,
      over: false,
      notBefore: clock.now() + FIRST_MS,
    };
    this.#previews.set(turnId, preview);
    return preview;
  }

  /** Another one for another text where the turn said something below the first: an answer stands at the end of a chat. */
  #current(preview: Preview | undefined): Preview | undefined {
    if (preview?.isOver !== true || !this.#ports.ledger.isOvertaken(preview.turnId)) return preview;
    end(preview);
    const next = this.#fresh(preview.turnId, preview.place);
    next.busy = this.#seal(preview).finally(() => {
      next.busy = undefined;
      this.#schedule(next);
    });
    return next;
  }

  /** Leaves it with the text that it shows, whole and without the line about a tool. Never rejects. */
  async #seal(preview: Preview): Promise<void> {
    const { ledger, log } = this.#ports;
    await preview.busy;
    preview.status = '';
    try {
      await this.#show(preview);
      await ledger.seal(preview.turnId, preview.text);
    } catch (error) {
      log.warn('a message that showed an answer could not be left as it is', { reason: errorMessage(error) });
    }
  }

  #schedule(preview: Preview): void {
    const { clock } = this.#ports;
    if (preview.over || preview.busy !== undefined || preview.timer !== undefined) return;
    preview.timer = clock.timer(Math.max(0, preview.notBefore - clock.now()), () => {
      preview.timer = undefined;
      const before = preview.shown;
      preview.busy = this.#show(preview).finally(() => {
        preview.busy = undefined;
        preview.notBefore = Math.max(preview.notBefore, clock.now() + EDIT_MS);
        if (preview.shown !== before) this.#schedule(preview);
        else this.#keep(preview);
      });
    });
  }

  /** A draft stays as long as its turn. */
  #keep(preview: Preview): void {
    preview.lease?.[Symbol.dispose]();
    preview.lease = undefined;
    if (preview.as !== 'draft' || preview.over) return;
    preview.lease = this.#ports.clock.timer(KEEP_MS, () => {
      preview.shown = '';
      this.#schedule(preview);
    });
  }

  /** Never rejects. */
  async #show(preview: Preview): Promise<void> {
    const { log } = this.#ports;
    const channel = this.#channel(preview.place.channel);
    if (channel === undefined || preview.text.trim() === '') return;
    const line = preview.status === '' ? '' : `\n\n_⋯ ${preview.status.replaceAll(/[_*`[\]<>]/gu, ' ')}_`;
    // The beginning: what does not fit into one message comes with the answer.
    const [text = ''] = channel.render(preview.text + line);
    if (text === '' || text === preview.shown) return;
    try {
      if (preview.platformId !== undefined) await this.#edit(preview, channel, preview.platformId, text);
      else if (!(await this.#draft(preview, channel, text))) await this.#begin(preview, channel, text);
      preview.shown = text;
    } catch (error) {
      log.debug('an answer could not be shown while it is written', { reason: errorMessage(error) });
      const waitMs = error instanceof SendError ? error.retryAfterMs : undefined;
      if (waitMs !== undefined) preview.notBefore = this.#ports.clock.now() + waitMs;
      if (preview.as === 'message' && preview.platformId === undefined) preview.over = true;
    }
  }

  /** False: it has to be a message. */
  async #draft(preview: Preview, channel: Channel, text: string): Promise<boolean> {
    if (preview.as === 'message' || channel.draft === undefined) return false;
    const isShown = await this.#inTime(async (signal) => channel.draft?.(this.#part(preview, text), signal));
    if (isShown !== true) return false;
    preview.as = 'draft';
    return true;
  }

  async #begin(preview: Preview, channel: Channel, text: string): Promise<void> {
    const { ledger } = this.#ports;
    preview.as = 'message';
    const id = await ledger.begin(preview.turnId, preview.place);
    if (id === undefined) throw new Error('it was begun before');
    preview.id = id;
    try {
      const { platformId } = await this.#inTime((signal) => channel.send(this.#part(preview, text), signal));
      preview.platformId = platformId;
    } catch (error) {
      // What may have arrived stays in the journal as that.
      const isGone = error instanceof SendError && error.failure !== 'uncertain';
      if (isGone) await ledger.failed(id, errorMessage(error));
      throw error;
    }
    await ledger.sent(id, preview.platformId);
  }

  async #edit(preview: Preview, channel: Channel, platformId: string, text: string): Promise<void> {
    await this.#inTime(async (signal) => channel.edit?.({ ...this.#part(preview, text), platformId }, signal));
  }

  #part({ turnId, place, id = `${turnId}:preview` }: Preview, text: string): Parameters<Channel['send']>[0] {
    const { chatId, threadId } = place;
    return {
      messageId: id,
      kind: 'part',
      turnId,
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      text,
      media: [],
      nonce: previewNonce(id),
    };
  }

  async #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using limit = deadline(this.#ports.clock, CALL_DEADLINE_MS, 'Showing an answer');
    return await raceAbort(work(limit.signal), limit.signal);
  }

  #channel(name: string): Channel | undefined {
    const found = this.#ports.outlets.outlet(name);
    return typeof found === 'string' ? undefined : found;
  }
}

/** Nothing more of it is shown. */
function end(preview: Preview): void {
  preview.over = true;
  preview.timer?.[Symbol.dispose]();
  preview.lease?.[Symbol.dispose]();
}
