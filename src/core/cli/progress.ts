import type { CliContext } from './context.ts';
import { terminalText } from './format.ts';
import { oneLine } from '../util/text.ts';

/** Between two looks of the line, milliseconds. */
const REDRAW_MS = 250;
/** From then on the line says how long the work takes, seconds. */
const LONG_SECONDS = 2;
const CLEAR_LINE = '\r\u001B[K';

/** Says how far long work is; gone when it is disposed of. */
export interface Progress extends Disposable {
  /** What is done now, in a few words; replaces what was said before. */
  show(text: string): void;
  /** Takes the line away until the next `show`, so that something else can be printed. */
  hide(): void;
}

/** A line on stderr that is drawn over itself, where that is a terminal; elsewhere nothing. */
export function openProgress({ stderr, clock, env }: Pick<CliContext, 'stderr' | 'clock' | 'env'>): Progress {
  if (stderr.isTTY !== true || env['TERM'] === 'dumb')
    return { show: () => {}, hide: () => {}, [Symbol.dispose]: () => {} };
  const beganAt = clock.monotonic();
  let text = '';
  let drawn = '';
  let timer: Disposable | undefined;
  const draw = (): void => {
    const seconds = Math.floor((clock.monotonic() - beganAt) / 1_000);
    const time = seconds < LONG_SECONDS ? '' : ` (${seconds} s)`;
    const line = `${oneLine(terminalText(text), Math.max(1, (stderr.columns ?? 80) - time.length - 1))}${time}`;
    if (line !== drawn) stderr.write(`${CLEAR_LINE}${line}`);
    drawn = line;
    timer = clock.timer(REDRAW_MS, draw);
  };
  const hide = (): void => {
    timer?.[Symbol.dispose]();
    timer = undefined;
    if (drawn !== '') stderr.write(CLEAR_LINE);
    drawn = '';
  };
  const show = (next: string): void => {
    text = next;
    if (timer === undefined) draw();
  };
  return { show, hide, [Symbol.dispose]: hide };
}
