import type { ToolSpec } from './provider.ts';

/** A call that a model wrote into its text. */
interface WrittenCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

/** Models that write their calls as text when the server in front of them doesn't read them. */
const WRITERS =
  /qwen|qwq|hermes|nous|mi[sn]tral|mixtral|magistral|devstral|codestral|kimi|moonshot|deepseek|llama|glm|minimax|granite|internlm|nemotron|xlam|watt|phi-?\d|smollm|yi-|ernie|hunyuan/iu;

/** Whether a model of this name is known to write calls as text. */
export function writesCalls(model: string): boolean {
  return WRITERS.test(model);
}

/**
 * The ways to write a call. `opens` may name the tool; what follows is an object with name and arguments, or several
 * in a list (`calls`), or only the arguments, as an object or as one element each (`arguments`).
 */
const FORMS: readonly { readonly opens: RegExp; readonly holds: 'calls' | 'arguments'; readonly closes: RegExp }[] = [
  // Qwen, Hermes and many more
  { opens: /<tool_call>\s*(?=[{[])/uy, holds: 'calls', closes: /\s*<\/tool_call>/uy },
  // Llama, Qwen Coder
  {
    opens: /(?:<tool_call>\s*)?<function=(?<name>[\w.-]+)>/uy,
    holds: 'arguments',
    closes: /\s*<\/function>(?:\s*<\/tool_call>)?/uy,
  },
  // GLM
  {
    opens: /<tool_call>\s*(?<name>[\w.-]+)\s*(?=<arg_key>|<\/tool_call>)/uy,
    holds: 'arguments',
    closes: /\s*<\/tool_call>/uy,
  },
  // Mistral, older and newer
  { opens: /\[TOOL_CALLS\]\s*(?=[{[])/uy, holds: 'calls', closes: /\s*(?:\[\/TOOL_CALLS\])?/uy },
  {
    opens: /\[TOOL_CALLS\]\s*(?<name>[\w.-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{)/uy,
    holds: 'arguments',
    closes: /\s*(?:\[\/TOOL_CALLS\])?/uy,
  },
  // Kimi
  {
    opens: /<\|tool_call_begin\|>\s*(?:functions\.)?(?<name>[\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>/uy,
    holds: 'arguments',
    closes: /\s*<\|tool_call_end\|>/uy,
  },
  // DeepSeek
  {
    opens:
      /<｜tool▁call▁begin｜>\s*(?:function<｜tool▁sep｜>)?(?<name>[\w.-]+)\s*(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?)?/uy,
    holds: 'arguments',
    closes: /\s*(?:```)?\s*<｜tool▁call▁end｜>/uy,
  },
  // DeepSeek and MiniMax, the newer ones
  {
    opens: /<(?:｜DSML｜)?invoke name="(?<name>[\w.-]+)">/uy,
    holds: 'arguments',
    closes: /\s*<\/(?:｜DSML｜)?invoke>/uy,
  },
  // Llama, Granite
  { opens: /<\|(?:python_tag|tool_call)\|>\s*(?=[{[])/uy, holds: 'calls', closes: /\s*;?/uy },
];

/** One argument as an element of its own. */
const ELEMENT =
  /\s*(?:<parameter=(?<a>[^>\n]+)>|<(?:｜DSML｜)?parameter name="(?<b>[^"\n]+)"[^>\n]*>|<arg_key>(?<c>[^<]+)<\/arg_key>\s*<arg_value>)(?<value>[\s\S]*?)(?:<\/(?:｜DSML｜)?parameter>|<\/arg_value>)/uy;

const SPACE = /\s+/uy;

/** Markup around calls that means nothing without them. */
const AROUND =
  /\s+|<\|tool_calls_section_(?:begin|end)\|>|<｜tool▁calls▁(?:begin|end)｜>|<\/?(?:｜DSML｜)?(?:function_calls|tool_calls|minimax:tool_call)>|<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext)\|>|<｜end▁of▁sentence｜>|<\/s>/uy;

/** How a call, or the markup around calls, begins. */
const BEGINNINGS = [
  '<tool_call>',
  '<function=',
  '[TOOL_CALLS]',
  '<|tool_call',
  '<｜tool▁call',
  '<|python_tag|>',
  '<｜DSML｜',
  '<invoke name=',
  '<function_calls>',
  '<tool_calls>',
  '<minimax:tool_call>',
] as const;

const BEGINNING = new RegExp(BEGINNINGS.map((mark) => RegExp.escape(mark)).join('|'), 'gu');

const QUOTING = /(?<fence>(?:^|\n) {0,3}(?:```|~~~))|\n|`+|<\/?think>/gu;
const QUOTED_LINE = /(?: {4}|\t| {0,3}>)/uy;

/** Finds where calls may begin in a text, which may grow at its end. Reads the text once, so the places must ascend. */
export class CallBeginnings {
  /** How far the text has been read for what quotes. Zero, or a beginning. */
  #read = 0;
  #lineStart = 0;
  /** Backticks in the line so far. */
  #ticks = 0;
  #lineHasFence = false;
  #inFence = false;
  #inThought = false;

  /** The first beginning from `from` on that isn't quoted; -1: nowhere. */
  next(text: string, from: number): number {
    BEGINNING.lastIndex = from;
    for (let found = BEGINNING.exec(text); found !== null; found = BEGINNING.exec(text)) {
      if (!this.#isQuoted(text, found.index)) return found.index;
    }
    return -1;
  }

  /** Whether a place is in a code block, a line of code, a quotation or a thought. */
  #isQuoted(text: string, at: number): boolean {
    // The part begins with the text or with a beginning, so that its start is that of a line only in the first case.
    for (const { 0: token, index, groups } of text.slice(this.#read, at).matchAll(QUOTING)) {
      if (token.startsWith('\n')) {
        this.#lineStart = this.#read + index + 1;
        this.#ticks = 0;
        this.#lineHasFence = false;
      }
      if (groups?.['fence'] !== undefined) this.#inFence = !this.#inFence;
      if (token.endsWith('think>')) this.#inThought = token === '<think>';
      this.#ticks += token.split('`').length - 1;
      this.#lineHasFence ||= token.includes('```');
    }
    this.#read = at;
    const inCode = this.#ticks % 2 === 1 && !this.#lineHasFence;
    return this.#inFence || this.#inThought || inCode || matchAt(QUOTED_LINE, text, this.#lineStart) !== null;
  }
}

/** How many characters at the end of a text may be the first ones of a beginning. */
export function unfinishedBeginning(text: string): number {
  const longest = Math.max(...BEGINNINGS.map(({ length }) => length)) - 1;
  for (let length = Math.min(longest, text.length); length > 0; length -= 1) {
    const tail = text.slice(-length);
    if (BEGINNINGS.some((mark) => mark.startsWith(tail))) return length;
  }
  return 0;
}

/** With more broken calls than this, a text isn't searched further: each may be as long as the rest of the text. */
const MOST_BROKEN = 32;

/** More text after a call, which some models write before they have the result: a line of its own, or a new sentence. */
const MORE_TEXT = /(?<=\n\s*)|(?=\p{Lu}|\p{Extended_Pictographic}|<tool_response>)/uy;
/** The result that a model imagines. */
const IMAGINED = /<tool_response>[\s\S]*?(?:<\/tool_response>|$)/gu;

/**
 * Splits an answer with calls into its text and all its calls. Null when there are none: when what looks like one is
 * quoted, is a part of a sentence, can't be read, or names a tool that wasn't offered.
 */
export function splitCalls(
  text: string,
  tools: readonly ToolSpec[],
): { readonly text: string; readonly calls: readonly WrittenCall[] } | null {
  const beginnings = new CallBeginnings();
  const calls: WrittenCall[] = [];
  const words: string[] = [];
  let end = 0;
  let broken = 0;
  for (let at = beginnings.next(text, 0); at !== -1;) {
    const read = readCalls(text, at, tools);
    if (read.calls.length > 0) {
      words.push(text.slice(end, at).trim());
      calls.push(...read.calls);
      end = read.end;
    } else if (opensCall(text, read.end) && (broken += 1) > MOST_BROKEN) return null;
    at = beginnings.next(text, Math.max(read.end, at + 1));
  }
  if (calls.length === 0 || (end < text.length && matchAt(MORE_TEXT, text, end) === null)) return null;
  words.push(text.slice(end).replaceAll(IMAGINED, '').trim());
  return { text: words.filter((some) => some !== '').join('\n'), calls };
}

/** Whether an interrupted text consists only of calls from `at` on. The last one may be incomplete. */
export function breaksInCall(text: string, at: number, tools: readonly ToolSpec[]): boolean {
  const { calls, end } = readCalls(text, at, tools);
  return end === text.length ? calls.length > 0 : opensCall(text, end);
}

function opensCall(text: string, at: number): boolean {
  return FORMS.some(({ opens }) => matchAt(opens, text, at) !== null);
}

/** As many calls as there are from `begin` on, and where the markup around them ends. */
function readCalls(text: string, begin: number, tools: readonly ToolSpec[]): Read {
  const calls: WrittenCall[] = [];
  for (let at = begin; ;) {
    const end = skip(AROUND, text, at);
    const read = end < text.length ? readCall(text, end, tools) : null;
    if (read === null) return { calls, end };
    calls.push(...read.calls);
    at = read.end;
  }
}

function readCall(text: string, at: number, tools: readonly ToolSpec[]): Read | null {
  for (const { opens, holds, closes } of FORMS) {
    const opened = matchAt(opens, text, at);
    if (opened === null) continue;
    const begin = at + opened[0].length;
    const name = opened.groups?.['name'];
    const read =
      holds === 'calls' || name === undefined ? callsAt(text, begin, tools) : argumentsAt(text, begin, { name, tools });
    if (read === null) continue;
    const closed = matchAt(closes, text, read.end);
    // A server may keep the closing mark to itself, because the model stops at it.
    if (closed === null && skip(AROUND, text, read.end) < text.length) continue;
    return { calls: read.calls, end: read.end + (closed?.[0].length ?? 0) };
  }
  return null;
}

interface Read {
  readonly calls: readonly WrittenCall[];
  readonly end: number;
}

/** An object with a name and arguments, or a list of such. */
function callsAt(text: string, begin: number, tools: readonly ToolSpec[]): Read | null {
  const json = jsonAt(text, begin);
  if (json === null) return null;
  const calls = (Array.isArray(json.value) ? json.value : [json.value]).map((item: unknown) => callOf(item, tools));
  return calls.every((call) => call !== null) ? { calls, end: json.end } : null;
}

function callOf(item: unknown, tools: readonly ToolSpec[]): WrittenCall | null {
  if (!isObject(item)) return null;
  const inner = isObject(item['function']) ? item['function'] : item;
  const name = inner['name'];
  const given = inner['arguments'] ?? inner['parameters'] ?? {};
  const value = typeof given === 'string' ? jsonAt(given, 0)?.value : given;
  if (typeof name !== 'string' || !isObject(value) || !tools.some((tool) => tool.name === name)) return null;
  return { name, arguments: JSON.stringify(value) };
}

/** The arguments of a tool: an object, or elements. */
function argumentsAt(
  text: string,
  begin: number,
  { name, tools }: { readonly name: string; readonly tools: readonly ToolSpec[] },
): Read | null {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) return null;
  const json = jsonAt(text, begin);
  if (json !== null) {
    if (!isObject(json.value)) return null;
    return { calls: [{ name, arguments: JSON.stringify(json.value) }], end: json.end };
  }
  const given: Record<string, unknown> = {};
  let end = begin;
  for (let element = matchAt(ELEMENT, text, end); element !== null; element = matchAt(ELEMENT, text, end)) {
    const { a, b, c, value = '' } = element.groups ?? {};
    const key = (a ?? b ?? c ?? '').trim();
    given[key] = typed(value.replace(/^\n|\n$/gu, ''), tool, key);
    end += element[0].length;
  }
  return { calls: [{ name, arguments: JSON.stringify(given) }], end };
}

/** An argument that was written as plain text, as the tool's schema wants it. */
function typed(text: string, { parameters }: ToolSpec, key: string): unknown {
  const properties = parameters['properties'];
  const schema: unknown = isObject(properties) ? properties[key] : undefined;
  if (!isObject(schema) || schema['type'] === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The JSON object or list that begins at a place, after white space; null when there is none. */
function jsonAt(text: string, begin: number): { readonly value: unknown; readonly end: number } | null {
  const start = skip(SPACE, text, begin);
  if (text[start] !== '{' && text[start] !== '[') return null;
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth > 0) continue;
    try {
      return { value: JSON.parse(text.slice(start, at + 1)), end: at + 1 };
    } catch {
      return null;
    }
  }
  return null;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function skip(pattern: RegExp, text: string, from: number): number {
  let at = from;
  for (let found = matchAt(pattern, text, at); found !== null && found[0] !== ''; found = matchAt(pattern, text, at)) {
    at += found[0].length;
  }
  return at;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
