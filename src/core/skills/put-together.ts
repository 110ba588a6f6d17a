/** Names that are hidden for a reason when they are put together from parts. */
const TELLING =
  /\b(?:eval|exec|execSync|system|popen|spawn|child_process|subprocess|__import__|curl|wget|base64|b64decode|atob|bash|powershell|socket|netcat|fromCharCode)\b/giu;
const SHELLS =
  /^(?:sudo\s+)?(?:(?:\/\w+)*\/)?(?:curl|wget|(?:ba|z|da|k)?sh|python[\d.]*|node|perl|ruby|base64|eval|nc|xxd)\b[^|;&\n]{0,80}$/u;
const MOST_NAMES = 50;
const DEEPEST = 5;

/** Names that stand for programs, by name. */
export type StandIns = ReadonlyMap<string, string>;

/** Aliases and variables of a file that stand for a shell, an interpreter or a download, also through one another. */
export function standInsOf(text: string): StandIns {
  const given = new Map<string, string>();
  const set =
    /(?:^|[;&|\s])(?:(?<alias>alias)\s+|export\s+|local\s+)?(?<name>[A-Za-z_]\w{0,30})=(?:"(?<double>[^"\n]{1,100})"|'(?<single>[^'\n]{1,100})'|(?<bare>[\w./$-]{1,60}))/gu;
  for (const match of text.slice(0, 200_000).matchAll(set)) {
    const { name = '', alias, double, single, bare } = match.groups ?? {};
    const value = (double ?? single ?? bare ?? '').trim();
    if (given.size < MOST_NAMES) given.set(alias === undefined ? `$${name}` : name, value);
  }
  const found = new Map<string, string>();
  for (const [name, value] of given) {
    let meant = value;
    for (let depth = 0; depth < DEEPEST; depth += 1) {
      const [first = ''] = meant.split(/\s/u, 1);
      const next = given.get(first.replace(/^\$\{(?<name>\w+)\}$/u, '$$$<name>'));
      if (next === undefined) break;
      meant = next + meant.slice(first.length);
    }
    if (SHELLS.test(meant)) found.set(name, meant);
  }
  return found;
}

/** A line with what was taken apart put together: `'ev' + 'al'`, `cu""rl`, `$c` where `c=curl`; else the same line. */
export function putTogether(line: string, standIns: StandIns): string {
  const joined = line
    .replace(/(?<=[\w/:. -])(?<quote>["'`])\s{0,4}(?:\+|\.\.?|,\s{0,4}(?=["']))\s{0,4}\k<quote>(?=[\w/:. -])/gu, '')
    .replace(/(?<=\w)(?:""|'')(?=\w)/gu, '')
    .replace(/(?<=\b[a-z]{1,6})\\(?=[a-z]{1,6}\b)(?!\\?[bfnrtuvx0])/gu, '');
  if (standIns.size === 0) return joined;
  return joined.replace(
    /\$\{?(?<variable>\w{1,31})\}?|(?<=^\s*|[|;&]\s*|["'`(]\s*)(?<alias>[A-Za-z_]\w{0,30})(?=\s|$)/gu,
    (...found) => {
      const groups: unknown = found.at(-1);
      const [whole] = found;
      const name = nameIn(groups);
      return (name === undefined ? undefined : standIns.get(name)) ?? whole;
    },
  );
}

/** Telling words that are in a line only once it is put together. */
export function revealed(line: string, together: string): string | undefined {
  if (line === together) return undefined;
  const before = line.match(TELLING)?.length ?? 0;
  const after = together.match(TELLING) ?? [];
  return after.length > before ? after.find((word) => !line.includes(word)) : undefined;
}

function nameIn(groups: unknown): string | undefined {
  if (typeof groups !== 'object' || groups === null) return undefined;
  if ('variable' in groups && typeof groups.variable === 'string') return `$${groups.variable}`;
  return 'alias' in groups && typeof groups.alias === 'string' ? groups.alias : undefined;
}
