import { paint, wrapWords, type TerminalLook } from '../channels/markup/terminal-text.ts';
import { wantsColor, type Environment } from '../config/environment.ts';
import { terminalText } from './format.ts';

/** Text over wider lines is hard to read. */
const WIDEST = 120;
const DEFAULT_COLUMNS = 80;

/** How text looks in this terminal. */
export function lookOf(
  env: Environment,
  { columns, plain }: { readonly columns: number; readonly plain: boolean },
): TerminalLook {
  return {
    width: Math.min(columns, WIDEST),
    style: plain ? 'plain' : wantsColor(env) ? 'color' : 'mono',
    hyperlinks: !plain && knowsLinks(env),
    clean: terminalText,
  };
}

/** Lines for a terminal of this width, each word whole and each line ended; elsewhere the text as it is. */
export function wrapped(text: string, out: { readonly isTTY?: boolean; readonly columns?: number }): string {
  const width = out.isTTY === true ? (out.columns ?? DEFAULT_COLUMNS) : Number.MAX_SAFE_INTEGER;
  return wrapWords([{ text }], width)
    .map((row) => `${paint(row, { style: 'plain', hyperlinks: false })}\n`)
    .join('');
}

/** Whether only lines may be printed: nothing can be drawn on such a terminal. */
export function isDumb(env: Environment): boolean {
  return env['TERM'] === 'dumb';
}

/** Terminals that are known to show links (https://github.com/Alhadis/OSC8-Adoption). */
function knowsLinks(env: Environment): boolean {
  const { TERM = '', TERM_PROGRAM = '' } = env;
  // A multiplexer may swallow them, whatever is around it.
  if (/^(?:screen|tmux|dumb|linux)/u.test(TERM)) return false;
  if (/^(?:iTerm\.app|WezTerm|vscode|ghostty|Hyper|mintty|rio|Tabby)$/u.test(TERM_PROGRAM)) return true;
  if (/kitty|alacritty|ghostty|foot|contour/u.test(TERM)) return true;
  if (Number(env['VTE_VERSION'] ?? 0) >= 5_000) return true;
  return env['WT_SESSION'] !== undefined || env['KONSOLE_VERSION'] !== undefined;
}
