/**
 * Removes from a model's text what people should not see: blocks of reasoning (`<think>`, `<thinking>`, `<thought>`) and
 * leaked tokens of chat templates (`<|channel|>analysis<|message|>…<|end|>`, `<|im_start|>`, `<|eot_id|>` …), also when one
 * is not closed, or has only its end. Keeps code, fenced or inline, and prose that mentions a tag.
 *
 * With `streaming` the text still grows: an end that may become a tag is held back, so that nothing has to disappear later.
 * Only an end tag without a beginning can still remove text that was shown.
 */
export function stripReasoning(text: string, options: { readonly streaming?: boolean } = {}): string {
  return text.includes('<') ? new Scanner(text, options.streaming === true).run() : text;
}

const NEXT = /[<`~]/gu;
const THINK_TAG = /<(\/?)(?:\w{1,12}:)?(think|thinking|thought)\s*>/iuy;
const TOKEN = /<(?:[|｜]([\w▁ ]{1,40})[|｜]|((?:start|end)_of_turn))>/uy;
/** The end of a text that may become a tag or a token. */
const HALF = /<(?:\/?[\w:]{0,24}\s*|[|｜][\w▁ ]{0,40}[|｜]?)$/uy;
const MENTIONED =
  /^[ \t]*(?:(?:opening|closing|html|xml)\s+)?(?:tags?|blocks?|elements?|tokens?|markers?|is|are|and|or)\b/iu;
/** Characters that have to follow a tag before it is known whether the prose only mentions it. */
const LOOKAHEAD = 20;
/** Characters after a tag in the middle of a line from which on it is no example but a real block. */
const LONG = 80;

const KNOWN_TOKEN =
  /^(?:channel|message|start|end|return|call|constrain|im_(?:start|end|sep)|eo[tm]_id|(?:begin|end)_?of_?\w+|eos|bos|(?:start|end)_header_id|python_tag|assistant|user|system|pad|tool_\w+|start_of_turn)$/iu;
const CHANNEL = /<\|channel\|>\s*(\w+)[^<]{0,80}(?:<\|constrain\|>[^<]{0,40})?<\|message\|>/iuy;
const MESSAGE_END = /<\|(?:(end|return|call)|start|channel)\|>/giu;
const HEADER = /<\|start_header_id\|>\w{0,20}<\|end_header_id\|>/iuy;
const ROLE = /(?:assistant|user|system|tool|developer|model)\b/iuy;

class Scanner {
  readonly #text: string;
  readonly #streaming: boolean;
  #out = '';
  #at = 0;
  /** Length of the output when a block was last removed. An end tag without a beginning removes the output after it. */
  #since = 0;
  /** A tag that is only mentioned was seen, so its end tag is only mentioned too. */
  #mentioned = false;
  /** A backtick on the last line may still get its partner, and what is between them is code. */
  #maybeCode = false;

  constructor(text: string, streaming: boolean) {
    this.#text = text;
    this.#streaming = streaming;
  }

  run(): string {
    for (;;) {
      NEXT.lastIndex = this.#at;
      const found = NEXT.exec(this.#text);
      this.#copyTo(found?.index ?? this.#text.length);
      if (found === null) return this.#out;
      const continues = found[0] === '<' ? this.#angle() : this.#code();
      if (!continues) return this.#out;
    }
  }

  /** Copies code unchanged. Backticks without a closing run on the same line are ordinary text. */
  #code(): boolean {
    const mark = this.#text[this.#at] ?? '';
    let end = this.#at;
    while (this.#text[end] === mark) end += 1;
    const length = end - this.#at;
    const lineEnd = this.#text.indexOf('\n', end);
    const line = this.#text.slice(end, lineEnd < 0 ? undefined : lineEnd);
    if (length >= 3 && this.#lineIsBlank('>') && !(mark === '`' && line.includes('`'))) {
      const close = new RegExp(`\\n[ \\t>]*${mark}{${length},}[ \\t]*(?=\\n|$)`, 'gu');
      close.lastIndex = end;
      const closed = close.exec(this.#text);
      this.#copyTo(closed === null ? this.#text.length : closed.index + closed[0].length);
      return true;
    }
    if (mark === '`') {
      const partner = new RegExp(`(?<!\`)\`{${length}}(?!\`)`, 'u').exec(line);
      if (partner !== null) end += partner.index + length;
      else if (lineEnd < 0 && this.#streaming) this.#maybeCode = true;
    }
    this.#copyTo(end);
    return true;
  }

  /** Handles a `<`. False when the rest of the text is removed or held back. */
  #angle(): boolean {
    const tag = this.#match(THINK_TAG);
    const token = tag === null ? this.#match(TOKEN) : null;
    if (tag === null && token === null) {
      if (this.#streaming && this.#match(HALF) !== null) return false;
      this.#copyTo(this.#at + 1);
      return true;
    }
    if (this.#maybeCode) return false;
    if (token !== null) return this.#token(token[0], token[1] ?? token[2] ?? '');
    const [whole = '', slash, name = ''] = tag ?? [];
    return slash === '/' ? this.#closing(whole) : this.#opening(whole, name);
  }

  #opening(tag: string, name: string): boolean {
    const from = this.#at + tag.length;
    const close = new RegExp(`</(?:\\w{1,12}:)?${name}\\s*>`, 'iu').exec(this.#text.slice(from));
    if (close === null && this.#isShort(from)) return false;
    const inner = this.#text.slice(from, close === null ? undefined : from + close.index);
    const decided = this.#isBlock(inner, close === null ? null : from + close.index + close[0].length);
    if (decided === 'later') return false;
    if (!decided) {
      this.#mentioned = true;
      this.#copyTo(from);
      return true;
    }
    if (close === null) return false;
    this.#skipTo(from + close.index + close[0].length);
    return true;
  }

  #isBlock(inner: string, end: number | null): boolean | 'later' {
    if (MENTIONED.test(inner)) return false;
    if (this.#lineIsBlank()) return true;
    if (/["'“‘«([{|*_]$/u.test(this.#out)) return false;
    const isSpoken = /[^\s.!?…][ \t]+$/u.test(this.#out);
    if (isSpoken && /^(?:[ \t]|[.,;:)…])/u.test(inner)) return false;
    if (inner.includes('\n') || inner.length >= LONG) return true;
    if (end === null) return this.#streaming ? 'later' : false;
    if (!/^\S[^]*\S$|^\S$/u.test(inner) || !/[\p{L}\p{N}]/u.test(inner)) return false;
    if (this.#isShort(end)) return 'later';
    return !MENTIONED.test(this.#text.slice(end, end + LOOKAHEAD));
  }

  #closing(tag: string): boolean {
    const end = this.#at + tag.length;
    const after = this.#text.slice(end, end + LOOKAHEAD);
    if (this.#isShort(end) && !after.includes('\n')) return false;
    const isSpoken = !this.#lineIsBlank() && /[\s"'“‘«([{|*_]$/u.test(this.#out);
    if (this.#mentioned || isSpoken || MENTIONED.test(after)) {
      this.#mentioned = false;
      this.#copyTo(end);
      return true;
    }
    this.#out = this.#out.slice(0, this.#since);
    this.#skipTo(end);
    return true;
  }

  #token(token: string, name: string): boolean {
    const end = this.#at + token.length;
    if (!KNOWN_TOKEN.test(name) && !/[▁｜]/u.test(token)) {
      this.#copyTo(end);
      return true;
    }
    const after = this.#text.slice(end, end + LOOKAHEAD);
    if (this.#isShort(end, /header|start/u.test(name) ? LOOKAHEAD : 2)) return false;
    const isSpoken = !this.#lineIsBlank() && /[\s"'“‘«([{|*_]$/u.test(this.#out);
    if (isSpoken && /^(?:[ \t]+[\p{L}\p{N}]|["'”’».,;:!?)\]}|*_])/u.test(after)) {
      this.#copyTo(end);
      return true;
    }
    switch (name.toLowerCase()) {
      case 'channel':
        return this.#channel(end);
      case 'start':
      case 'im_start':
      case 'start_of_turn': {
        ROLE.lastIndex = end;
        this.#skipTo(end + (ROLE.exec(this.#text)?.[0].length ?? 0));
        return true;
      }
      case 'start_header_id':
        if (this.#isShort(end, 40)) return false;
        this.#skipTo(this.#at + (this.#match(HEADER)?.[0].length ?? token.length));
        return true;
      default:
        this.#skipTo(end);
        return true;
    }
  }

  /** Handles a channel token: text of the channel `final` is kept, that of other channels is removed. */
  #channel(end: number): boolean {
    const header = this.#match(CHANNEL);
    if (header === null) {
      const lineEnd = this.#text.indexOf('\n', end);
      if (lineEnd < 0) return false;
      this.#skipTo(lineEnd);
      return true;
    }
    const from = this.#at + header[0].length;
    if (header[1]?.toLowerCase() === 'final') {
      this.#skipTo(from);
      return true;
    }
    MESSAGE_END.lastIndex = from;
    const over = MESSAGE_END.exec(this.#text);
    if (over === null) return false;
    this.#skipTo(over.index + (over[1] === undefined ? 0 : over[0].length));
    return true;
  }

  /** Whether too little text follows to decide, and more may come. */
  #isShort(from: number, needed = LOOKAHEAD): boolean {
    return this.#streaming && this.#text.length - from < needed;
  }

  #copyTo(end: number): void {
    this.#out += this.#text.slice(this.#at, end);
    this.#at = end;
  }

  /** Removes the text up to `end`, and the white space after it if the output is at the beginning of a line. */
  #skipTo(end: number): void {
    this.#at = end;
    if (this.#out === '' || this.#out.endsWith('\n')) {
      while (/\s/u.test(this.#text[this.#at] ?? '')) this.#at += 1;
    }
    this.#since = this.#out.length;
  }

  /** Whether the output has only white space, or characters of `marks`, since the beginning of the line. */
  #lineIsBlank(marks = ''): boolean {
    const line = this.#out.slice(this.#out.lastIndexOf('\n') + 1);
    return Array.from(line).every((char) => char === ' ' || char === '\t' || marks.includes(char));
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }
}
