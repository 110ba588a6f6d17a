import { UNKNOWN } from './marks.ts';

const NAMED: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '',
  b: '',
  e: '\u001B',
  f: '\f',
  v: '\v',
  '\\': '\\',
};

/** `\n`, `\x41`, `\101`, `\u0041` as echo -e and printf write them. */
export function decodeEscapes(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|(.))/g,
    (all, hex?: string, unicode?: string, octal?: string, other?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      if (unicode !== undefined) return String.fromCharCode(Number.parseInt(unicode, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
      return NAMED[other ?? ''] ?? all;
    },
  );
}

/** What `echo` writes. */
export function echoOutput(args: readonly string[]): string {
  let words = [...args];
  let escapes = false;
  let newline = '\n';
  while (/^-[neE]+$/.test(words[0] ?? '')) {
    const [flags = ''] = words;
    if (flags.includes('n')) newline = '';
    if (flags.includes('e')) escapes = true;
    words = words.slice(1);
  }
  const text = words.join(' ');
  return (escapes ? decodeEscapes(text) : text) + newline;
}

/** What `printf` writes, the common directives only. */
export function printfOutput(args: readonly string[]): string {
  const [format = '', ...rest] = args[0] === '--' ? args.slice(1) : args;
  const left = [...rest];
  let text = '';
  let before: number;
  do {
    before = left.length;
    text += decodeEscapes(format).replaceAll(/%(?:[-+ #0]*\d*(?:\.\d+)?([a-zA-Z])|%)/g, (_all, kind?: string) => {
      if (kind === undefined) return '%';
      const value = left.shift() ?? '';
      if (kind === 's') return value;
      if (kind === 'b') return decodeEscapes(value);
      if (kind === 'c') return value.slice(0, 1);
      return kind === 'd' || kind === 'i' ? String(Number.parseInt(value, 10) || 0) : UNKNOWN;
    });
  } while (left.length > 0 && left.length < before);
  return text;
}
