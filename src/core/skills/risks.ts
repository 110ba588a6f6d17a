import { cut, plural, cutStart } from '../util/text.ts';
import { countInvisible } from './fields.ts';
import { putTogether, revealed, standInsOf, type StandIns } from './put-together.ts';
import { PROGRAMS, RISKY_PATTERNS, type RiskKind } from './risky-patterns.ts';

export interface Risk {
  /** Relative to the skill's folder. */
  readonly file: string;
  /** From 1; 0: the file as a whole. */
  readonly line: number;
  readonly kind: RiskKind;
  /** What was found, on one line, with characters that cannot be seen spelled out. */
  readonly excerpt: string;
}

export interface ScannedFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Of one kind in one file; the last one says how many more there are. */
const MOST_OF_A_KIND = 5;
const MOST_RISKS = 200;
const LONG_LINE = 2_000;
/** Characters that are looked at together, and by how many neighbours overlap. */
const WINDOW = 4_000;
const OVERLAP = 500;
const LONGEST_EXCERPT = 120;

/**
 * What a person should look at before they trust a skill. It finds what is often used to do harm, not harm itself:
 * nothing found proves nothing, and a finding may be harmless. Linear in the size of the files.
 */
export function findRisks(files: readonly ScannedFile[]): readonly Risk[] {
  const risks: Risk[] = [];
  for (const file of files) {
    risks.push(...scan(file));
    if (risks.length >= MOST_RISKS) break;
  }
  return risks.slice(0, MOST_RISKS);
}

function scan({ path, bytes }: ScannedFile): readonly Risk[] {
  const binary = binaryKind(path, bytes);
  if (binary === 'harmless') return [];
  if (binary !== undefined) return [{ file: path, line: 0, kind: 'program file', excerpt: binary }];
  const found = new Map<RiskKind, Found>();
  const add: Add = (risk, { weak }) => {
    const known = found.get(risk.kind) ?? { risks: [], count: 0, weak: true };
    found.set(risk.kind, known);
    known.count += 1;
    known.weak &&= weak;
    if (known.count <= MOST_OF_A_KIND) known.risks.push({ file: path, ...risk });
  };
  const text = new TextDecoder().decode(bytes);
  const file: Context = { standIns: standInsOf(text), isAboutAttacks: ABOUT_ATTACKS.test(text), add };
  for (const logical of logicalLines(text)) scanLine(logical.text, logical.line, file);
  // One thing that many honest skills hold says nothing; two of them in a file do. Data stands in long lines
  // everywhere.
  const kinds = [...found].filter(([kind]) => kind !== 'long line');
  if (kinds.length < 2 && kinds.every(([, { weak }]) => weak)) return [];
  const reported = [...found.values()];
  return reported.flatMap(({ risks, count }) => {
    const more = count - risks.length;
    const last = risks.at(-1);
    if (more === 0 || last === undefined) return risks;
    return [...risks.slice(0, -1), { ...last, excerpt: `${last.excerpt} (and ${plural(more, 'more place')})` }];
  });
}

interface Found {
  readonly risks: Risk[];
  count: number;
  /** None of them says anything by itself. */
  weak: boolean;
}

type Add = (risk: Omit<Risk, 'file'>, options: { readonly weak: boolean }) => void;

interface Context {
  readonly standIns: StandIns;
  /** It teaches how such words are recognized, so it quotes them. */
  readonly isAboutAttacks: boolean;
  readonly add: Add;
}

const ABOUT_ATTACKS =
  /\b(?:prompt[- ]injections?|jailbreak\w*|adversarial|injection\s+(?:attack|attempt|pattern|payload|technique)s?|red[- ]?team\w*)\b/iu;

function scanLine(text: string, line: number, { standIns, isAboutAttacks, add }: Context): void {
  // A byte order mark is none at the beginning of a file alone.
  const invisible = countInvisible(line === 1 ? text : `.${text}`);
  if (invisible > 0) {
    const excerpt = `${invisible}: ${around(text, firstHidden(text), 0)}`;
    add({ kind: 'invisible characters', line, excerpt }, { weak: false });
  }
  if (text.length > LONG_LINE) {
    add({ kind: 'long line', line, excerpt: `${text.length} characters: ${around(text, 0, 0)}` }, { weak: true });
  }
  // What cannot be seen must not keep a pattern apart.
  const plain = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  const seen = new Map<RiskKind, { readonly weak: boolean }>();
  for (let start = 0; start < plain.length; start += WINDOW - OVERLAP) {
    const window = plain.slice(start, start + WINDOW);
    const together = putTogether(window, standIns);
    const word = revealed(window, together);
    if (word !== undefined) {
      const excerpt = around(together, together.indexOf(word), word.length);
      add({ kind: 'hidden code', line, excerpt }, { weak: false });
    }
    for (const { kind, pattern, weak = false } of RISKY_PATTERNS) {
      const before = seen.get(kind);
      if (before !== undefined && (!before.weak || weak)) continue;
      const match = pattern.exec(together);
      if (match === null) continue;
      const isTalk = kind === 'hidden instruction' && isQuoted(together, match.index, match.index + match[0].length);
      if (isTalk && isAboutAttacks) continue;
      seen.set(kind, { weak: weak || isTalk });
      add({ kind, line, excerpt: around(together, match.index, match[0].length) }, { weak: weak || isTalk });
    }
    if (start + WINDOW >= plain.length) break;
  }
}

/** Whether a part of a line stands between quotation marks or marks of code. */
function isQuoted(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 80), start);
  const after = text.slice(end, end + 120);
  return /["'`“‘«|][^"'`“”‘’»|]*$/u.test(before) && /^[^"'`“”‘’»|]*["'`”’»|]/u.test(after);
}

/** The lines of a text; lines joined by a backslash at the end count as one. */
function* logicalLines(text: string): Generator<{ text: string; line: number }> {
  let begun: { text: string; line: number } | undefined;
  for (const [index, raw] of text.split(/\r\n?|\n/u).entries()) {
    const current = begun === undefined ? { text: raw, line: index + 1 } : { ...begun, text: `${begun.text} ${raw}` };
    begun = undefined;
    if (raw.endsWith('\\') && current.text.length < WINDOW) begun = { ...current, text: current.text.slice(0, -1) };
    else yield current;
  }
  if (begun !== undefined) yield begun;
}

function firstHidden(text: string): number {
  return Math.max(0, text.search(/(?![\n\t])[\p{Cf}\p{Cc}\u115F\u1160\u3164\uFFA0]/u));
}

/** The part of a line around what was found. */
function around(text: string, start: number, length: number): string {
  const from = Math.max(0, Math.min(start - 20, start + length - LONGEST_EXCERPT));
  const part = cut(cutStart(text, text.length - from), LONGEST_EXCERPT);
  const more = from + LONGEST_EXCERPT < text.length;
  return `${from > 0 ? '…' : ''}${cut(spelledOut(part.trim()), 3 * LONGEST_EXCERPT)}${more ? '…' : ''}`;
}

function spelledOut(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Variation_Selector}\u115F\u1160\u3164\uFFA0]/gu,
    (character) => (character === '\t' ? ' ' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
  );
}

/** How files are named that are only shown or heard. */
export const MEDIA_NAME = /\.(?:png|jpe?g|gif|webp|avif|bmp|ico|pdf|ttf|otf|woff2?|mp3|ogg|flac|wav|mp4|webm)$/iu;

/** Whether a file is an image, font, sound or document by its name and by its bytes. */
export function isMedia({ path, bytes }: ScannedFile): boolean {
  return binaryKind(path, bytes) === 'harmless';
}

/** What a file is, when it is no text; `harmless` for images, fonts, sounds and documents. */
function binaryKind(path: string, bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 8_192)).toString('latin1');
  const program = PROGRAMS.find(({ magic }) => magic.test(head));
  if (program !== undefined) return program.what;
  const isUtf16 = head.startsWith('\u00FF\u00FE') || head.startsWith('\u00FE\u00FF');
  if (!head.includes('\0') || isUtf16) return undefined;
  return MEDIA_NAME.test(path) ? 'harmless' : 'a file that is no text';
}
