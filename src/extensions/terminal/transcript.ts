import { escapeInvisible } from '../../core/api-cli.ts';
import {
  seconds,
  paint,
  wrapAnywhere,
  wrapWords,
  type Piece,
  type TerminalLook,
  type ApprovalQuestion,
  type AttachedMessage,
  type OutboundEvent,
  type TurnSummary,
} from '../../core/api-terminal.ts';
import { type Clock, oneLine, sentences } from '../../core/api.ts';
import { diffPieces } from './markup-code.ts';
import { renderTerminal } from './markup.ts';
import { Activity } from './activity.ts';
import { AnswerText } from './answer-text.ts';

type ToolEnd = Extract<OutboundEvent, { readonly type: 'tool-end' }>;

const MOST_REMEMBERED = 50;
const LONGEST_NOTE = 600;
const MOST_DIFF_ROWS = 12;
/** A tool that took less time does not say how much. */
const SHOWN_FROM_MS = 1_000;

/**
 * What is said in a conversation, as lines that are printed once: text while it streams, block by block; tools when they
 * have ended; messages, of which those that were streamed are not shown again.
 */
export class ScreenTranscript {
  readonly answer: AnswerText;
  readonly activity: Activity;
  readonly #look: () => TerminalLook;
  #shown: readonly string[] = [];
  /** Something of this turn stands above, so that a text begins behind an empty line. */
  #isBehind = false;
  /** Why a person was asked: what is refused then does not say it again. */
  #asked: readonly string[] = [];
  /** Events that were seen: each message that waits for the same turn is told of the same ones. */
  readonly #seen = new Set<string>();

  constructor(look: () => TerminalLook, clock: Clock) {
    this.#look = look;
    this.answer = new AnswerText(look);
    this.activity = new Activity(clock);
  }

  event(event: OutboundEvent): readonly string[] {
    const key = `${event.turnId} ${event.sequence}`;
    if (this.#seen.has(key)) return [];
    this.#seen.add(key);
    switch (event.type) {
      case 'text':
        return this.#stream(event.text);
      case 'tool-start':
        this.activity.start(event.callId, event.title);
        return this.endText();
      case 'tool-end':
        return [...this.endText(), ...this.#toolEnd(event)];
      case 'status':
        if (this.#look().style === 'plain') return this.note(event.text);
        this.activity.status(event.text);
        return [];
      case 'reasoning':
      case 'typing':
      case 'turn-end':
        return [];
    }
  }

  /** A message for this session; what belongs to a turn may have been streamed before. */
  message({ text, from, turnId }: Pick<AttachedMessage, 'text' | 'from' | 'turnId'>): readonly string[] {
    if (from === undefined && turnId !== undefined) return this.#answer(text);
    const before = [...this.endText(), ...this.#gap()];
    const origin = from === undefined ? [] : this.note(`From ${from}:`);
    this.#isBehind = this.activity.isBusy;
    return [...before, ...origin, ...renderTerminal(text.trim(), this.#look())];
  }

  summary({ text }: Pick<TurnSummary, 'text'>): readonly string[] {
    return text.trim() === '' ? this.endText() : this.#answer(text);
  }

  /** What a person is asked: what it is, why, and the whole of what would be done. */
  question({ title, reason, detail }: ApprovalQuestion): readonly string[] {
    const look = this.#look();
    this.#asked = [...this.#asked, sentences(reason)].slice(-MOST_REMEMBERED);
    const words = [{ text: escapeInvisible(title), bold: true }, { text: `: ${escapeInvisible(reason)}` }];
    const bar: Piece = { text: '  │ ', dim: true };
    return [
      ...this.endText(),
      ...wrapWords(words, look.width).map((row) => paint(row, look)),
      ...wrapAnywhere([{ text: escapeInvisible(detail) }], look.width - bar.text.length).map((row) =>
        paint([bar, ...row], look),
      ),
    ];
  }

  /** A text that is safe for a terminal, as it is. */
  lines(text: string): readonly string[] {
    const look = this.#look();
    return [...this.endText(), ...wrapWords([{ text }], look.width).map((row) => paint(row, look))];
  }

  /** A dim line. */
  note(text: string): readonly string[] {
    const look = this.#look();
    const words = oneLine(look.clean(text), LONGEST_NOTE);
    return [...this.endText(), ...hanging([{ text: words, dim: true }], { text: '  ' }, look)];
  }

  /** Ends a text that was streamed. */
  endText(): readonly string[] {
    const text = this.answer.text.trim();
    if (text !== '') {
      this.#remember(text);
      this.#isBehind = true;
    }
    return this.answer.end();
  }

  /** A turn begins. While none runs, the same answer again is news. */
  begin(): void {
    if (!this.activity.isBusy) {
      this.#shown = [];
      this.#asked = [];
      this.#seen.clear();
    }
    // What was sent stands above.
    this.#isBehind = false;
    this.activity.begin();
  }

  #answer(text: string): readonly string[] {
    const whole = text.trim();
    const begun = this.answer.text.trim();
    if (begun !== '' && whole.startsWith(begun)) {
      const lines = this.answer.grow(whole);
      return [...lines, ...this.endText()];
    }
    if (whole === '' || this.#shown.includes(whole)) return [];
    const before = [...this.endText(), ...this.#gap()];
    this.#remember(whole);
    this.#isBehind = true;
    return [...before, ...renderTerminal(whole, this.#look())];
  }

  #stream(text: string): readonly string[] {
    this.activity.text();
    const whole = text.trimStart();
    const before = whole.startsWith(this.answer.text) ? [] : this.endText();
    if (this.answer.text === '') this.answer.begin(this.#isBehind);
    return [...before, ...this.answer.grow(whole)];
  }

  #toolEnd(event: ToolEnd): readonly string[] {
    const look = this.#look();
    const ms = this.activity.finish(event.callId);
    const time = ms === undefined || ms < SHOWN_FROM_MS ? '' : ` · ${seconds(ms)}`;
    const why = this.#withoutAsked(event.refused ?? event.problem);
    this.#isBehind = true;
    const reason = !event.isError || why === undefined ? '' : `: ${why}`;
    const words = oneLine(look.clean(`${event.title}${reason}`), LONGEST_NOTE) + (reason === '' ? time : '');
    const sign: Piece = event.isError ? { text: '  ✗ ', tone: 'wrong' } : { text: '  ✓ ', tone: 'added' };
    return [...hanging([{ text: words, dim: true }], sign, look), ...this.#diff(event.diff ?? '')];
  }

  #diff(diff: string): readonly string[] {
    if (diff === '') return [];
    const look = this.#look();
    const rows = wrapAnywhere(diffPieces(look.clean(diff)), look.width - 4);
    const more = rows.length - MOST_DIFF_ROWS;
    // One row more takes no more room than the sentence that it is left out.
    const shown = more <= 1 ? rows : rows.slice(0, MOST_DIFF_ROWS);
    const left = more <= 1 ? [] : [paint([{ text: `    … ${more} lines more`, dim: true }], look)];
    return [...shown.map((row) => paint([{ text: '    ' }, ...row], look)), ...left];
  }

  #gap(): readonly string[] {
    // Behind a turn that has ended the view leaves one.
    return this.#isBehind && this.activity.isBusy ? [''] : [];
  }

  #withoutAsked(why: string | undefined): string | undefined {
    const whole = why?.trimEnd() ?? '';
    const said = this.#asked.find((reason) => reason !== '' && whole.endsWith(reason)) ?? '';
    return whole.slice(0, whole.length - said.length).trimEnd() || undefined;
  }

  #remember(text: string): void {
    this.#shown = [...this.#shown, text].slice(-MOST_REMEMBERED);
  }
}

/** Words behind a sign, wrapped below each other. */
function hanging(words: readonly Piece[], sign: Piece, look: TerminalLook): readonly string[] {
  const indent: Piece = { text: ' '.repeat(sign.text.length) };
  return wrapWords(words, look.width - sign.text.length).map((row, at) =>
    paint([at === 0 ? sign : indent, ...row], look),
  );
}
