import { posix } from 'node:path';
import { DECODED, FETCHED, isUnknown, tracesOf, UNKNOWN, withoutTraces, written } from './placeholders.ts';
import { OWN_JOB } from './parameters.ts';
import { assign, type Scope } from './scope.ts';

const NAMED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '', b: '', '\\': '\\' };

/** `\n`, `\x41`, `\101`, `\u0041` as echo -e and printf write them. */
function decodeEscapes(text: string): string {
  return text.replaceAll(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|0?([0-7]{1,3})|(.))/g,
    (all, hex?: string, unicode?: string, octal?: string, other?: string) => {
      const code = hex ?? unicode;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 255);
      return NAMED[other ?? ''] ?? all;
    },
  );
}

function echoOutput(args: readonly string[]): string {
  const end = args.findIndex((arg) => !/^-[neE]+$/.test(arg));
  const flags = args.slice(0, end < 0 ? undefined : end).join('');
  const text = end < 0 ? '' : args.slice(end).join(' ');
  return (flags.includes('e') ? decodeEscapes(text) : text) + (flags.includes('n') ? '' : '\n');
}

/** The common directives only. */
function printfOutput(args: readonly string[]): string {
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

/** What a program writes, as far as that can be known: its text, `UNKNOWN`, and the traces of where it came from. */
export function outputOf(name: string, args: readonly string[], scope: Scope): string {
  const { stdin, directories } = scope;
  const [directory = UNKNOWN] = directories;
  const [first = '', second = ''] = args;
  const last = args.at(-1) ?? '';
  if (FETCHES.test(name)) return fetched(args, scope);
  switch (name) {
    case 'echo':
      return plain(echoOutput(args));
    case 'printf':
      if (first !== '-v') return plain(printfOutput(args));
      assign(scope, second, [printfOutput(args.slice(2))]);
      return '';
    case 'pwd':
      return `${directory}\n`;
    case 'dirname':
      return plain(`${posix.dirname(last)}\n`);
    case 'realpath':
    case 'readlink':
      return plain(`${posix.resolve(directory, last)}\n`);
    case 'jobs':
      return `${OWN_JOB}\n`;
    case 'cat':
    case 'tee':
      return name === 'tee' || args.every((arg) => arg.startsWith('-')) ? stdin : UNKNOWN;
    default: {
      if (!DECODES.test([name, ...args].join('\n'))) return tracesOf(stdin) + UNKNOWN;
      const isKnown = name === 'base64' && !stdin.includes(UNKNOWN);
      return DECODED + (isKnown ? Buffer.from(withoutTraces(stdin), 'base64').toString('utf8') : UNKNOWN);
    }
  }
}

/** Programs that undo an encoding, with the arguments that make them. */
const DECODES =
  /^(?:(?:base64|base32|basenc)\n(?:.*\n)*?(?:-[a-zA-Z]*[dD]|--decode)(?:\n|$)|openssl\n(?:.*\n)*?-d(?:\n|$)|xxd\n(?:.*\n)*?-\w*r|(?:uudecode|rev|tr)(?:\n|$))/;

/** Clients that print, or keep in a file, what a server sends. */
const FETCHES = /^(?:curl|wget|https?|xh|aria2c|lynx|w3m)$/;

/** What a client writes: to its output, and into the file that it names. */
function fetched(args: readonly string[], { shared, directories }: Scope): string {
  const output = FETCHED + UNKNOWN;
  const files = args.flatMap((arg, i) => [
    ...(/^(?:-[a-zA-Z]*[oO]|--output(?:-document)?)$/.test(args[i - 1] ?? '') ? [arg] : []),
    ...(/^(?:--output(?:-document)?=|\w+:\/\/[^?#]*\/(?=[^/?#]))([^?#]+)/.exec(arg)?.slice(1) ?? []),
  ]);
  for (const file of files)
    for (const directory of directories) shared.files.set(posix.resolve(directory, file), output);
  return output;
}

function plain(text: string): string {
  return isUnknown(text.trim()) ? UNKNOWN : written(text);
}
