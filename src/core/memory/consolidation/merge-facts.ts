import { addHeading, addToSection, endOfSection, headingOf } from '../files/facts.ts';

/**
 * Three-way merge of MEMORY.md by lines: `update` was made from `base` while the file became `current`. Lines that
 * `update` removed leave, lines that it added are there once, everything else of `current` stays where it is. Lines are
 * the same when they are equal without the white space around them. A removed heading stays while something is below
 * it. An added line goes after the line that it follows in `update`, else to the end of its section.
 */
export function mergeFacts(base: string, update: string, current: string): string {
  const [before, after] = [linesIn(base), linesIn(update)];
  const added = new Set([...after].filter((line) => !before.has(line)));
  if (current === base) return once(update.split('\n'), added).join('\n');
  const removed = new Set([...before].filter((line) => !after.has(line)));
  const merged = once(withoutRemoved(current.split('\n'), removed), added);
  const present = linesIn(merged.join('\n'));
  for (const section of sectionsOf(update)) {
    const missing = section.lines.filter((line) => added.has(line.trim()) && !present.has(line.trim()));
    const isNew = section.heading !== undefined && added.has(section.heading) && !present.has(section.heading);
    if (missing.length === 0 && !isNew) continue;
    const heading = placeHeading(merged, section);
    for (const line of missing) {
      if (present.has(line.trim())) continue;
      insert(merged, heading, line, section.lines);
      present.add(line.trim());
    }
    if (section.heading !== undefined) present.add(section.heading);
  }
  return merged.join('\n');
}

interface Section {
  /** Trimmed; undefined for what stands before all headings. */
  readonly heading: string | undefined;
  /** The headings before it, nearest first. */
  readonly earlier: readonly string[];
  /** With their indents, without empty ones. */
  readonly lines: readonly string[];
}

function sectionsOf(text: string): readonly Section[] {
  let section: Section & { readonly lines: string[] } = { heading: undefined, earlier: [], lines: [] };
  const sections = [section];
  for (const line of text.split('\n').map((raw) => raw.trimEnd())) {
    if (headingOf(line) !== undefined) {
      const earlier = section.heading === undefined ? [] : [section.heading, ...section.earlier];
      section = { heading: line.trim(), earlier, lines: [] };
      sections.push(section);
    } else if (line !== '') {
      section.lines.push(line);
    }
  }
  return sections;
}

function linesIn(text: string): Set<string> {
  return new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  );
}

/** Without the repeats of those facts that are in `wanted`. */
function once(lines: readonly string[], wanted: ReadonlySet<string>): string[] {
  const seen = new Set<string>();
  return lines.filter((raw) => {
    const line = raw.trim();
    if (!wanted.has(line) || headingOf(line) !== undefined) return true;
    if (seen.has(line)) return false;
    seen.add(line);
    return true;
  });
}

function withoutRemoved(lines: readonly string[], removed: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  // From the end, so that what stays below a heading is known when the heading is met.
  for (const line of lines.toReversed()) {
    const heading = headingOf(line);
    const drop = removed.has(line.trim()) && (heading === undefined || isEmptyAbove(kept, heading.level));
    if (!drop) kept.push(line);
  }
  return kept.reverse();
}

/** `below` holds the lines after a heading, last line first. */
function isEmptyAbove(below: readonly string[], level: number): boolean {
  const next = below.findLast((line) => line.trim() !== '');
  return next === undefined || (headingOf(next)?.level ?? 7) <= level;
}

/** The line of a section's heading, which is added where it is missing; -1 for what stands before all headings. */
function placeHeading(merged: string[], { heading, earlier }: Section): number {
  if (heading === undefined) return -1;
  const lineOf = (wanted: string): number => merged.findIndex((line) => line.trim() === wanted);
  const there = lineOf(heading);
  if (there !== -1) return there;
  const before = earlier.map(lineOf).find((at) => at !== -1);
  const at =
    before === undefined ? endOfSection(merged, 0) : endOfSection(merged, before + 1, headingOf(heading)?.level);
  return addHeading(merged, at, heading);
}

function insert(merged: string[], heading: number, line: string, order: readonly string[]): void {
  const end = endOfSection(merged, heading + 1);
  const section = merged.slice(heading + 1, end).map((other) => other.trim());
  const neighbour = order
    .slice(0, order.indexOf(line))
    .reverse()
    .map((other) => section.indexOf(other.trim()))
    .find((at) => at !== -1);
  if (neighbour === undefined) addToSection(merged, heading, line);
  else merged.splice(heading + 2 + neighbour, 0, line);
}
