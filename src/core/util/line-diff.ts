/** A line that only one of two texts has. */
export interface LineChange {
  readonly sign: '−' | '+';
  readonly line: string;
}

/** Beyond this many pairs of lines everything between the equal ends counts as changed. */
const MOST_PAIRS = 1_000_000;

/** The lines that differ, in their order: what is gone, then what has come. */
export function diffLines(before: string, after: string): readonly LineChange[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  return changes(a.slice(start, a.length - end), b.slice(start, b.length - end));
}

function changes(a: readonly string[], b: readonly string[]): readonly LineChange[] {
  if (a.length * b.length > MOST_PAIRS) return [...signed('−', a), ...signed('+', b)];
  const width = b.length + 1;
  // Of the lines from i and from j on: how many they have in common.
  const common = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: LineChange[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      found.push(...signed('−', a.slice(i, (i += 1))));
    } else {
      found.push(...signed('+', b.slice(j, (j += 1))));
    }
  }
  return found;
}

function signed(sign: LineChange['sign'], lines: readonly string[]): readonly LineChange[] {
  return lines.map((line) => ({ sign, line }));
}
