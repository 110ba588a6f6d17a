import type { OutboundEvent } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { previewNonce, type PreviewPlace } from '../../journal/previews.ts';
import { deadline, raceAbort } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { SendError, type Channel } from '../channel.ts';

/** An answer that is complete before this time gets no preview. */
const FIRST_MS = 1_000;
/** How long an answer that hasn't begun is waited for before the chat reads why. */
const LONG_MS = 15_000;
/** Interval of edits; platforms allow about one in a second. */
const EDIT_MS = 1_200;
const CALL_DEADLINE_MS = 10_000;
/** A draft is sent again at this interval, before the platform removes it. */
const KEEP_MS = 20_000;

interface Preview {
  readonly turnId: string;
  readonly place: PreviewPlace;
  text: string;
  /** Title of the running tool, on one line; '': the model writes text. */
  status: string;
  /** Why the model can't begin; shown also without a text. */
  wait: string;
  /** The text that was sent last. */
  shown: string;
  /** Id of its row in the journal; undefined: it has none yet. */
  id: string | undefined;
  platformId: string | undefined;
  /** How it is shown; undefined: not shown yet. */
  as: 'draft' | 'message' | undefined;
  /** Timer that sends the draft again. */
  lease: Disposable | undefined;
  /** A tool ran, so the next text may need a new preview. */
  isOver: boolean;
  timer: Disposable | undefined;
  /** The running call of the channel. */
  busy: Promise<void> | undefined;
  /** The preview has ended. */
  over: boolean;
  /** No edit before this time, by `Clock.monotonic`. */
  notBefore: number;
  /** Nothing is shown before this time unless there is a text. */
  readonly textlessUntil: number;
}

/**
 * Shows an answer while the model writes it: as a draft if the channel has drafts, else as one message that grows by edits
 * (`EDIT_MS`), with the title of the running tool, or what keeps the model from answering, as its last line. If the turn
 * sends another message in between, the rest is shown in a new preview below it. At the end the answer replaces the preview,
 * also after a crash, because previews are in the journal. An error here never affects the answer.
 */
export class Previews implements Disposable {
  readonly #app: App;
  readonly #previews = new Map<string, Preview>();
  readonly #listening: Disposable;

  constructor(app: App) {
    this.#app = app;
    this.#listening = app.bus.listen((event) => this.#hear(event));
  }

  /**
   * Ends the preview of a turn. Resolves when none of its calls is running any more, so that the answer may be sent. No
   * answer comes where the turn `isStopped`: then what the model was waited for doesn't stay as if it still were so.
   */
  async settle(turnId: string, { isStopped }: { readonly isStopped: boolean }): Promise<void> {
    const preview = this.#previews.get(turnId);
    if (preview === undefined) return;
    this.#previews.delete(turnId);
    end(preview);
    await preview.busy;
    if (!isStopped || preview.text.trim() !== '' || preview.as !== 'message') return;
    preview.wait = 'stopped';
    await this.#show(preview);
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
        if (preview.text === '') this.#beginText(preview);
        preview.isOver = false;
        preview.text = event.text;
        preview.status = '';
        preview.wait = '';
        this.#schedule(preview);
        break;
      }
      case 'status': {
        if (event.isLong !== true) return;
        const preview = known ?? this.#open(event);
        if (preview === undefined) return;
        preview.wait = event.text;
        this.#schedule(preview);
        break;
      }
      case 'tool-start':
      case 'tool-end':
        if (known === undefined) return;
        known.isOver = true;
        known.status = event.type === 'tool-start' ? event.title : '';
        known.wait = '';
        this.#schedule(known);
        break;
      default:
    }
  }

  #open({ turnId, channel, chatId, threadId }: OutboundEvent): Preview | undefined {
    const isShown = this.#app.config.channels[channel]?.stream ?? true;
    if (!isShown || this.#channel(channel)?.edit === undefined) return undefined;
    const place = { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
    return this.#fresh(turnId, place, this.#app.journal.previews.platformId(turnId));
  }

  #fresh(turnId: string, place: PreviewPlace, platformId?: string): Preview {
    const { clock } = this.#app;
    const preview: Preview = {
      turnId,
      place,
      text: '',
      status: '',
      wait: '',
      shown: '',
      id: undefined,
      platformId,
      as: platformId === undefined ? undefined : 'message',
      lease: undefined,
      // A preview of an earlier process may have another message below it.
      isOver: platformId !== undefined,
      timer: undefined,
      busy: undefined,
      over: false,
      notBefore: clock.monotonic() + FIRST_MS,
      textlessUntil: clock.monotonic() + LONG_MS,
    };
    this.#previews.set(turnId, preview);
    return preview;
  }

  /** A wait needn't be shown any more if it ends this soon. */
  #beginText(preview: Preview): void {
    preview.timer?.[Symbol.dispose]();
    preview.timer = undefined;
    preview.notBefore = Math.max(preview.notBefore, this.#app.clock.monotonic() + FIRST_MS);
  }

  /** Ends a preview that has another message of the turn below it, so that the next text gets a new one at the end of the chat. */
  #current(preview: Preview | undefined): Preview | undefined {
    if (preview?.isOver !== true || !this.#app.journal.previews.isOvertaken(preview.turnId)) return preview;
    // Nothing of it is to stay.
    if (preview.text.trim() === '') return preview;
    end(preview);
    const next = this.#fresh(preview.turnId, preview.place);
    next.busy = this.#seal(preview).finally(() => {
      next.busy = undefined;
      this.#schedule(next);
    });
    return next;
  }

  /** Makes a preview final: its whole text, without the line about a tool. Never rejects. */
  async #seal(preview: Preview): Promise<void> {
    const { log } = this.#app;
    const { previews: ledger } = this.#app.journal;
    await preview.busy;
    preview.status = '';
    try {
      await this.#show(preview);
      await ledger.seal(preview.turnId, preview.text);
    } catch (error) {
      log.warn('preview: message of an answer not finished', { reason: errorMessage(error) });
    }
  }

  #schedule(preview: Preview): void {
    const { clock } = this.#app;
    if (preview.over || preview.busy !== undefined || preview.timer !== undefined) return;
    const at = preview.text === '' ? Math.max(preview.notBefore, preview.textlessUntil) : preview.notBefore;
    preview.timer = clock.timer(Math.max(0, at - clock.monotonic()), () => {
      preview.timer = undefined;
      const before = preview.shown;
      preview.busy = this.#show(preview).finally(() => {
        preview.busy = undefined;
        preview.notBefore = Math.max(preview.notBefore, clock.monotonic() + EDIT_MS);
        if (preview.shown !== before) this.#schedule(preview);
        else this.#keep(preview);
      });
    });
  }

  /** Sends a draft again and again until its turn ends. */
  #keep(preview: Preview): void {
    preview.lease?.[Symbol.dispose]();
    preview.lease = undefined;
    if (preview.as !== 'draft' || preview.over) return;
    preview.lease = this.#app.clock.timer(KEEP_MS, () => {
      preview.shown = '';
      this.#schedule(preview);
    });
  }

  /** Sends or edits the preview, if its text changed; a new message not before those that wait for the chat. Never rejects. */
  async #show(preview: Preview): Promise<void> {
    const { log } = this.#app;
    const channel = this.#channel(preview.place.channel);
    const last = preview.wait || preview.status;
    // A tool alone opens no preview; it takes the place of a wait that was shown.
    const hasBegun = preview.text.trim() !== '' || preview.wait !== '' || (preview.shown !== '' && last !== '');
    if (channel === undefined || !hasBegun) return;
    const line = last === '' ? '' : `_⋯ ${last.replaceAll(/[_*`[\]<>]/gu, ' ')}_`;
    // Only the first part: the rest comes with the answer.
    const [text = ''] = channel.render([preview.text, line].filter((part) => part.trim() !== '').join('\n\n'));
    if (text === '' || text === preview.shown) return;
    try {
      if (preview.platformId !== undefined) await this.#edit(preview, channel, preview.platformId, text);
      else if (!(await this.#draft(preview, channel, text))) {
        if (this.#app.journal.previews.isBehind(preview.place)) return;
        await this.#app.channels.manager.sending(preview.place.channel, this.#begin(preview, channel, text));
      }
      preview.shown = text;
    } catch (error) {
      log.debug('preview: update failed', { reason: errorMessage(error) });
      const waitMs = error instanceof SendError ? error.retryAfterMs : undefined;
      if (waitMs !== undefined) preview.notBefore = this.#app.clock.monotonic() + waitMs;
      if (preview.as === 'message' && preview.platformId === undefined) preview.over = true;
    }
  }

  /** Shows the preview as a draft. False: the channel or chat has none, so it has to be a message. */
  async #draft(preview: Preview, channel: Channel, text: string): Promise<boolean> {
    if (preview.as === 'message' || channel.draft === undefined) return false;
    const isShown = await this.#inTime(async (signal) => channel.draft?.(this.#part(preview, text), signal));
    if (isShown !== true) return false;
    preview.as = 'draft';
    return true;
  }

  async #begin(preview: Preview, channel: Channel, text: string): Promise<void> {
    const { previews: ledger } = this.#app.journal;
    preview.as = 'message';
    const id = await ledger.begin(preview.turnId, preview.place);
    if (id === undefined) throw new Error('it was begun before');
    preview.id = id;
    try {
      const { platformId } = await this.#inTime((signal) => channel.send(this.#part(preview, text), signal));
      preview.platformId = platformId;
    } catch (error) {
      // A preview that may have arrived stays marked so in the journal.
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
    using limit = deadline(this.#app.clock, CALL_DEADLINE_MS, 'Showing an answer');
    return await raceAbort(work(limit.signal), limit.signal);
  }

  #channel(name: string): Channel | undefined {
    const found = this.#app.channels.manager.outlet(name);
    return typeof found === 'string' ? undefined : found;
  }
}

/** Ends a preview: nothing more of it is sent. */
function end(preview: Preview): void {
  preview.over = true;
  preview.timer?.[Symbol.dispose]();
  preview.lease?.[Symbol.dispose]();
}
