import { seconds, paint, textWidth, type TerminalLook } from '../../core/api-terminal.ts';
import { type Clock, oneLine } from '../../core/api.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;
/** What is answered sooner needs no sign that it is worked on. */
const SHOWN_AFTER_MS = 400;
/** Streaming text counts as a sign of life until it pauses for this time. */
const PAUSE_MS = 2_000;

interface RunningTool {
  readonly title: string;
  since: number;
}

/** What is under way: the tools that run, or that the model thinks, each with its seconds. */
export class Activity {
  readonly #clock: Clock;
  readonly #tools = new Map<string, RunningTool>();
  #since: number | undefined;
  /** When something was last seen of the turn. */
  #seen = 0;
  #hasText = false;
  /** What is waited for, in the assistant's words. */
  #status = '';
  /** Since when a person is asked. */
  #askedAt: number | undefined;
  /** The assistant can be reached. */
  isConnected = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether anything is under way. */
  get isBusy(): boolean {
    return this.#since !== undefined;
  }

  /** A turn begins. */
  begin(): void {
    // Another message for the same turn is no sign of life of it.
    if (this.isBusy) return;
    this.#since = this.#clock.monotonic();
    this.#seen = this.#since;
  }

  /** A person is asked, or has decided: the time they took is not that of the tool that waited for them. */
  asking(isAsked: boolean): void {
    const now = this.#clock.monotonic();
    if (isAsked) {
      this.#askedAt ??= now;
    } else if (this.#askedAt !== undefined) {
      const [tool, ...others] = this.#tools.values();
      // Of several, it is not known which of them waited.
      if (tool !== undefined && others.length === 0) tool.since += now - Math.max(this.#askedAt, tool.since);
      this.#askedAt = undefined;
      this.#seen = now;
    }
  }

  /** No turn runs any more. */
  end(): void {
    this.#since = undefined;
    this.#hasText = false;
    this.#status = '';
    this.#askedAt = undefined;
    this.#tools.clear();
  }

  text(): void {
    this.#saw(true);
  }

  /** What is waited for instead of an answer; until something else is seen. */
  status(text: string): void {
    this.#saw(false);
    this.#status = text;
  }

  start(callId: string, title: string): void {
    this.#tools.set(callId, { title, since: this.#clock.monotonic() });
    this.#saw(false);
  }

  /** Returns the milliseconds that the tool ran; undefined where its start was not seen. */
  finish(callId: string): number | undefined {
    const tool = this.#tools.get(callId);
    this.#tools.delete(callId);
    this.#saw(this.#hasText);
    return tool === undefined ? undefined : this.#clock.monotonic() - tool.since;
  }

  /** One row for each thing under way; none while text streams. */
  rows(look: TerminalLook): readonly string[] {
    const now = this.#clock.monotonic();
    if (this.#since === undefined) return [];
    const sign = FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? '';
    const row = (title: string, since: number): string => {
      const time = ` · ${seconds(now - since)}`;
      const text = fitted(look.clean(title), look.width - textWidth(`  ${sign} ${time}`) - 1);
      return paint([{ text: `  ${sign} ` }, { text: text + time, dim: true }], look);
    };
    const quietSince = Math.max(this.#since, this.#seen);
    const status = this.#status === '' ? [] : [row(this.#status, quietSince)];
    if (this.#tools.size > 0)
      return [...[...this.#tools.values()].map(({ title, since }) => row(title, since)), ...status];
    if (status.length > 0 && this.isConnected) return status;
    const isQuiet = this.#hasText ? now - quietSince >= PAUSE_MS : now - this.#since >= SHOWN_AFTER_MS;
    return isQuiet ? [row(this.isConnected ? 'thinking' : 'waiting for the assistant', quietSince)] : [];
  }

  #saw(hasText: boolean): void {
    this.#seen = this.#clock.monotonic();
    this.#hasText = hasText;
    this.#status = '';
  }
}

/** One line of at most `width` columns. */
function fitted(text: string, width: number): string {
  let line = oneLine(text, Math.max(1, width));
  while (textWidth(line) > width && line.length > 1) line = oneLine(line, line.length - 1);
  return line;
}
