import { cut, oneLine } from '../util/text.ts';

const LONGEST = 1_024;
/** What describes a skill stands near its beginning. */
const SEARCHED = 65_536;
/** HTML, tables, pictures, rules. */
const STRUCTURE = /^(?:[<|]|!\[|\[!\[|(?:[-*_][ \t]*){3,}$|={2,}\s*$)/u;

/**
 * The first paragraph of a Markdown text that is prose (no code, no TOML); failing that its first list item, then its first heading.
 * One line of at most 1,024 characters without emphasis and link targets; undefined where there is nothing.
 */
export function firstParagraph(body: string): string | undefined {
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
