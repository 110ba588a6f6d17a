import { isInvisible } from '../../src/core/channels/markup/spans.ts';

/** What people see of a message on Discord, and what of it should not have been sent. */
export interface DiscordReading {
  readonly visible: string;
  readonly problems: readonly string[];
}

interface Context {
  /** What stands before this text on its line. */
  readonly before: string;
  readonly inQuote: boolean;
  readonly lists: number;
}

const LONGEST = 2_000;
const URL_END = '[^<.,:;"\'\\]\\s]';

/**
 * Reads a message as Discord's clients do: rules are tried from left to right, the first one that matches wins, inside of
 * it the same again. Reported are mentions, addresses that would get a preview, links whose label or address cannot be
 * shown as one, looks nobody asked for (underline, spoiler, small print), and what the API refuses.
 */
export function readDiscord(content: string): DiscordReading {
  const problems: string[] = [];
  if (content.length > LONGEST) problems.push(`${content.length} characters`);
  if (isInvisible(content)) problems.push('empty');
  if (!content.isWellFormed()) problems.push('half a character');
  const visible = read(content, { before: '', inQuote: false, lists: 0 }, problems);
  return { visible, problems };
}

function read(text: string, context: Context, problems: string[]): string {
  let shown = '';
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const lineStart = text.lastIndexOf('\n', at - 1) + 1;
    const before = (lineStart === 0 ? context.before : '') + text.slice(lineStart, at);
    const here: Context = { ...context, before };
    const found = /^ *$/u.test(before)
      ? (block(rest, here, problems) ?? inline(rest, here, problems))
      : inline(rest, here, problems);
    shown += found?.shown ?? rest.charAt(0);
    at += found?.length ?? 1;
  }
  return shown;
}

interface Found {
  readonly length: number;
  readonly shown: string;
}

function block(rest: string, context: Context, problems: string[]): Found | undefined {
  const inside = (text: string, change: Partial<Context>): string =>
    read(text, { ...context, before: '', ...change }, problems);
  const small = context.before === '' ? /^-# +(?!-#)([^\n]+)\n?/u.exec(rest) : null;
  if (small !== null) problems.push('small print');
  const heading = context.lists === 0 ? /^(#{1,3})\s+(?!#)([^\n]*)\n?/u.exec(rest) : null;
  if (heading !== null) {
    const title = (heading[2] ?? '').trimEnd().replace(/#+$/u, '').trimEnd();
    return { length: heading[0].length, shown: `${inside(title, {})}\n` };
  }
  const quote = context.inQuote ? null : /^(?:> [^\n]*(?:\n|$))+/u.exec(rest);
  if (quote !== null) {
    const lines = quote[0]
      .replace(/\n$/u, '')
      .split('\n')
      .map((line) => line.slice(2));
    return { length: quote[0].length, shown: `${inside(lines.join('\n'), { inQuote: true })}\n` };
  }
  if (!context.inQuote && rest.startsWith('>>> ')) problems.push('everything quoted');
  return context.lists < 11 ? list(rest, context, problems) : undefined;
}

function list(rest: string, context: Context, problems: string[]): Found | undefined {
  const item = /((?:[*-]|\d+\.) +)([^][^\n]*(?:\n [^\n]*)*)\n?/uy;
  let number: number | undefined;
  let shown = '';
  let length = 0;
  for (let match = item.exec(rest); match !== null; match = item.exec(rest)) {
    const [whole, marker = '', body = ''] = match;
    if (length === 0)
      number = /^\d/u.test(marker) ? Math.min(Math.max(Number.parseInt(marker, 10), 1), 1e9) : undefined;
    else if (number !== undefined) number += 1;
    const text = body.replace(new RegExp(`^ {1,${marker.length}}`, 'gmu'), '');
    const inner = read(text, { ...context, before: '', lists: context.lists + 1 }, problems);
    shown += `${number === undefined ? '• ' : `${number}. `}${inner}\n`;
    length += whole.length;
  }
  return length === 0 ? undefined : { length, shown };
}

const LOOKS: readonly (readonly [RegExp, string | undefined])[] = [
  [/^\*\*((?:\\[^]|[^\\])+?)\*\*(?!\*)/u, undefined],
  [/^__((?:\\[^]|[^\\])+?)__(?!_)/u, 'underlined'],
  [/^\*(?!\s)((?:\\[^]|\*\*|[^*\\])+?)(?<!\s) {0,2}\*(?!\*)/u, undefined],
  [/^_((?:\\[^]|__|[^_\\])+?)_(?![a-zA-Z0-9_])/u, undefined],
  [/^~~([^]+?)~~(?!_)/u, undefined],
  [/^\|\|([^]+?)\|\|/u, 'a spoiler'],
];

function inline(rest: string, context: Context, problems: string[]): Found | undefined {
  const escaped = /^\\([^A-Za-z0-9\s])/u.exec(rest);
  if (escaped !== null) return { length: escaped[0].length, shown: escaped[1] ?? '' };
  const code = /^```(?:[\w+.-]*\n)?([^]*?[^\n][^]*?)```/u.exec(rest);
  if (code !== null) return { length: code[0].length, shown: `\n${(code[1] ?? '').replace(/^\n+|\n+$/gu, '')}\n` };
  const marks = /^`+/u.exec(rest)?.[0] ?? '';
  const span = marks === '' ? null : new RegExp(`^${marks}([^]+?)(?<!\`)${marks}(?!\`)`, 'u').exec(rest);
  if (span !== null) return { length: span[0].length, shown: padded(span[1] ?? '') };
  for (const [pattern, complaint] of LOOKS) {
    const look = pattern.exec(rest);
    if (look === null) continue;
    if (complaint !== undefined) problems.push(complaint);
    return { length: look[0].length, shown: read(look[1] ?? '', context, problems) };
  }
  const mention = /^(?:<@[!&]?\d+>|<#\d+>|@everyone|@here|<t:-?\d+(?::\w)?>|<a?:\w+:\d+>|<\/[^>]+:\d+>|<id:\w+>)/u.exec(
    rest,
  );
  if (mention !== null) problems.push(`a mention: ${mention[0]}`);
  const quiet = /^<([^: >]+:\/[^ >]+)>/u.exec(rest);
  if (quiet !== null) return { length: quiet[0].length, shown: quiet[1] ?? '' };
  const loud = new RegExp(`^(?:https?|steam)://[^\\s<]+${URL_END}`, 'u').exec(rest);
  if (loud !== null) {
    problems.push(`an address with a preview: ${loud[0]}`);
    return { length: loud[0].length, shown: loud[0] };
  }
  return link(rest, problems);
}

/** Nothing is escaped in a label; a label that is more than words makes the whole thing text. */
function link(rest: string, problems: string[]): Found | undefined {
  const match = /^\[((?:\[[^\]]*\]|[^[\]])*)\]\(\s*(<)?((?:\([^)]*\)|[^\s\\]|\\[^\n])*?)(>)?\s*\)/u.exec(rest);
  if (match === null) return undefined;
  const [whole, label = '', opening, address = '', closing] = match;
  if (opening === undefined || closing === undefined) problems.push(`a link with a preview: ${whole}`);
  if (!URL.canParse(address) || !/^https?:\/\//iu.test(address)) problems.push(`a link to nowhere: ${whole}`);
  const inner: string[] = [];
  const shown = read(label, { before: '', inQuote: false, lists: 0 }, inner);
  if (shown.trim() !== label.trim() || inner.length > 0) problems.push(`a link that is shown as written: ${whole}`);
  return { length: whole.length, shown: label };
}

function padded(code: string): string {
  const words = code.replace(/^ +| +$/gu, '');
  const start = words.startsWith('`') && code.startsWith(' ') ? 1 : 0;
  const end = words.endsWith('`') && code.endsWith(' ') ? 1 : 0;
  return code.slice(start, code.length - end);
}
