import { withoutInvisible } from '../security/text/invisible.ts';
import { oneLine, plural, cut } from '../util/text.ts';
import { readAllowedTools } from './allowed-tools.ts';
import { asText, isRecord, type Fields, countInvisible } from './fields.ts';
import { readFrontMatter } from './frontmatter.ts';
import { readMetadata } from './metadata.ts';
import type { SkillText } from './skill.ts';

const LONGEST = 1_024;

/** What describes a skill stands near its beginning. */
const SEARCHED = 65_536;

/** HTML, tables, pictures, rules. */
const STRUCTURE = /^(?:[<|]|!\[|\[!\[|(?:[-*_][ \t]*){3,}$|={2,}\s*$)/u;

const LONGEST_NAME = 64;
/** Letters, digits, combining marks and emoji (with their joiners) make up a name. */
const NOT_IN_NAMES = /[^\p{L}\p{M}\p{N}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u200d]+/gu;

/**
 * Reads the text of a `SKILL.md`, even a malformed one; mistakes are listed in the warnings.
 *
 * Where the front matter is valid YAML, name and description are what a YAML reader gives: the name made usable as a
 * word, the description with its white space folded. A missing name is the folder's, a missing description the first
 * paragraph of the body. Hidden characters are counted, not taken out. Never throws, never runs code.
 */
export function readSkillText(text: string, options: { readonly folderName: string }): SkillText {
  const { fields, body, warnings } = readFrontMatter(text);
  const named = readName(fields, options.folderName);
  const described = readDescription(fields, body, named.name);
  const { metadata, warnings: oddMetadata } = readMetadata(fields);
  const { allowed, warnings: oddTools } = readAllowedTools(fields.get('allowedtools'));
  const invisible = countInvisible(text);
  return {
    ...named.facts,
    name: named.name,
    description: described.description,
    body,
    ...metadata,
    allowedTools: allowed,
    warnings: [
      ...warnings,
      ...named.warnings,
      ...described.warnings,
      ...(body.trim() === '' ? ['It has no text after its front matter.'] : []),
      ...oddMetadata,
      ...oddTools,
      ...(invisible > 0 ? [`It holds ${plural(invisible, 'invisible character')}.`] : []),
    ],
  };
}

interface Named {
  readonly name: string;
  readonly facts: Pick<SkillText, 'writtenName'>;
  readonly warnings: readonly string[];
}

function readName(fields: Fields, folderName: string): Named {
  const written = asText(fields.get('name'));
  const folder = usableName(folderName);
  const fallback = folder === '' ? `skill-${fingerprint(folderName)}` : folder;
  if (written === undefined)
    return { name: fallback, facts: {}, warnings: ['It has no name: the name of its folder is used.'] };
  const name = usableName(written);
  const shown = oneLine(written, 60);
  if (name === '') {
    const warning = `Its name ${shown} has no letter and no digit: the name of its folder is used.`;
    return { name: fallback, facts: { writtenName: written }, warnings: [warning] };
  }
  const warnings: string[] = [];
  if (name !== written) warnings.push(`Its name ${shown} is used as ${name}.`);
  if (name !== folder) warnings.push(`Its name ${name} differs from its folder ${oneLine(folderName, 60)}.`);
  return { name, facts: name === written ? {} : { writtenName: written }, warnings };
}

/** The name under which a skill is known, from what somebody wrote. Latin letters lose their accents. A name with other letters or an emoji keeps its own script, so that it can be called. */
export function usableName(text: string): string {
  const start = text.slice(0, 4 * LONGEST_NAME).toWellFormed();
  const plain = start.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const isPlain = !/[\p{L}\p{Extended_Pictographic}]/u.test(plain.replace(/\p{Script=Latin}/gu, ''));
  return (isPlain ? plain.replace(/[^a-z0-9]+/gu, '-') : inOwnScript(start))
    .replace(/^-/u, '')
    .slice(0, LONGEST_NAME)
    .toWellFormed()
    .replace(/[-\ufffd]$/u, '');
}

/** Joiners stay only between two emoji. */
const STRAY_JOINER = /(?<!\p{Extended_Pictographic}\p{Emoji_Modifier}?)\u200d|\u200d(?!\p{Extended_Pictographic})/gu;

function inOwnScript(text: string): string {
  const seen = withoutInvisible(text.replaceAll('\ufe0f', '')).text.replace(STRAY_JOINER, '');
  return seen.normalize('NFC').toLowerCase().replace(NOT_IN_NAMES, '-');
}

/** Keeps folders apart whose names have no letter that could be used. */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash.toString(36);
}

function readDescription(fields: Fields, body: string, name: string): { description: string; warnings: string[] } {
  const value = fields.get('description');
  const written = asText(value);
  if (written !== undefined) return { description: written, warnings: [] };
  const collected = collect(value);
  if (collected !== undefined) {
    return { description: collected, warnings: ['Its description is not one text: its parts were joined.'] };
  }
  const paragraph = firstParagraph(body);
  if (paragraph === undefined) return { description: `The skill ${name}.`, warnings: ['It has no description.'] };
  return { description: paragraph, warnings: ['It has no description: the first words of its text describe it.'] };
}

/** One text from a list or from a map, of which English is taken where there are languages. */
function collect(value: unknown): string | undefined {
  if (Array.isArray(value)) return asText(value.flatMap((item: unknown) => asText(item) ?? []).join('; '));
  if (!isRecord(value)) return undefined;
  const english = asText(value['en']) ?? asText(value['en-US']);
  if (english !== undefined) return english;
  const parts = Object.entries(value).flatMap(([key, item]) => {
    const text = asText(item);
    return text === undefined ? [] : [`${key}: ${text}`];
  });
  return asText(parts.join('; '));
}

/**
 * The first paragraph of a Markdown text that is prose (no code, no TOML); failing that its first list item, then its
 * first heading. One line of at most 1,024 characters without emphasis and link targets; undefined where there is
 * nothing.
 */
function firstParagraph(body: string): string | undefined {
  let heading: string | undefined;
  let item: string | undefined;
  let paragraph: string[] = [];
  let fence: string | undefined;
  const text = cut(body, SEARCHED).replace(/<!--[^]*?(?:-->|$)/gu, '');
  for (const raw of [...text.split('\n'), '']) {
    const line = raw.trim().replace(/^>[ \t]?/u, '');
    const mark = /^(?:`{3,}|~{3,}|\+{3})/u.exec(line)?.[0];
    if (fence !== undefined) {
      if (mark !== undefined && mark.startsWith(fence)) fence = undefined;
      continue;
    }
    const isText = line !== '' && mark === undefined && !line.startsWith('#') && !STRUCTURE.test(line);
    const listed = /^(?:[-*+]|\d{1,3}[.)])[ \t]+(?<item>.*)$/u.exec(line)?.groups?.['item'];
    if (isText && listed === undefined) {
      paragraph.push(line);
      continue;
    }
    if (paragraph.length > 0) {
      // Underlined: a heading too.
      if (!/^(?:-{3,}|={3,})$/u.test(line)) return plain(paragraph.join(' '));
      heading ??= plain(paragraph.join(' '));
      paragraph = [];
    }
    if (mark !== undefined) fence = mark;
    if (line.startsWith('#')) heading ??= plain(line.replace(/^#+/u, ''));
    if (listed !== undefined) item ??= plain(listed);
  }
  return item ?? heading;
}

function plain(text: string): string | undefined {
  const short = cut(text, 2 * LONGEST);
  const bare = short.replace(/!?\[(?<shown>[^\]]*)\]\([^)]*\)/gu, '$<shown>').replace(/\*\*|__|`/gu, '');
  const line = oneLine(bare, LONGEST);
  return line === '' ? undefined : line;
}
